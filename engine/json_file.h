#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/status.h"

namespace sluice::engine {

/// Levels of lists and objects that a model's JSON files may nest.
inline constexpr int kJsonDepthMax = 32;

/// Reads a file of JSON that lies beside a model's weights. Errors begin with the file's name and are one line:
/// NOT_FOUND when there is none, INVALID_ARGUMENT when it is longer than `bytes_max`, not JSON, names a member twice or
/// nests deeper than kJsonDepthMax.
Result<nlohmann::json> read_json_file(const std::string& path, uint64_t bytes_max);

/// The same for text in memory; errors don't name a file.
Result<nlohmann::json> parse_json(std::string_view text);

}  // namespace sluice::engine
