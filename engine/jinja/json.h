#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "engine/jinja/value.h"

namespace sluice::jinja {

/// JSON text as a value: objects keep their order, of equal keys the last value wins, integers and floats stay apart
/// (an integer past 64 bits becomes a float), and all strings are input. INVALID_ARGUMENT says where it is no JSON or
/// nests deeper than `depth_max`.
Result<Value> parse_json(std::string_view text, int32_t depth_max);

}  // namespace sluice::jinja
