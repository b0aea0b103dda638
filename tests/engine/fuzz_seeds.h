#pragma once

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <string>

#include <gtest/gtest.h>

#include "base/counter_random.h"

namespace sluice::engine {

/// The seeds of a fuzzer's runs: the first `count`, or with SLUICE_FUZZ_SECONDS as many as that time allows, or with
/// SLUICE_FUZZ_SEED that one alone.
class FuzzSeeds {
 public:
  explicit FuzzSeeds(uint64_t count) : count_(count) {
    if (const char* const seconds = std::getenv("SLUICE_FUZZ_SECONDS"); seconds != nullptr) {
      count_ = UINT64_MAX;
      end_ = std::chrono::steady_clock::now() + std::chrono::seconds(std::strtoul(seconds, nullptr, 10));
    }
    if (const char* const seed = std::getenv("SLUICE_FUZZ_SEED"); seed != nullptr) {
      next_ = std::strtoull(seed, nullptr, 10);
      count_ = next_ + 1;
    }
  }

  /// Goes on to the next one; false when there is none.
  bool advance() {
    if (next_ >= count_ || std::chrono::steady_clock::now() > end_) return false;
    seed_ = next_++;
    return true;
  }
  uint64_t seed() const { return seed_; }
  uint64_t runs() const { return seed_ + 1; }
  bool is_one() const { return std::getenv("SLUICE_FUZZ_SEED") != nullptr; }

 private:
  uint64_t count_;
  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::time_point::max();
  uint64_t next_ = 0;
  uint64_t seed_ = 0;
};

/// A run's own random numbers.
class FuzzRandom {
 public:
  explicit FuzzRandom(uint64_t seed) : seed_(seed) {}
  uint64_t bits() { return random_bits(seed_, position_++); }
  size_t below(size_t bound) { return bits() % bound; }

 private:
  const uint64_t seed_;
  uint64_t position_ = 0;
};

/// Processor time of this thread, which doesn't depend on what else the machine does.
inline double thread_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace sluice::engine
