#pragma once

#include <cstdint>

namespace sluice::engine {

// The largest sizes a model's files may claim: far beyond any model there is, and small enough that products of any two
// stay within 64 bits.
inline constexpr int64_t kVocabMax = int64_t{1} << 22;
inline constexpr int64_t kLayersMax = 1024;
inline constexpr int64_t kWidthMax = int64_t{1} << 18;
inline constexpr int64_t kFfnWidthMax = kWidthMax * 8;
inline constexpr int64_t kHeadsMax = 4096;
inline constexpr int64_t kContextMax = int64_t{1} << 26;
inline constexpr int64_t kExpertsMax = 4096;
inline constexpr double kRopeBaseMax = 1e12;

}  // namespace sluice::engine
