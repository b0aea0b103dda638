#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/status.h"

namespace sluice::server {

/// A JSON value whose objects keep the order in which their members came.
using Json = nlohmann::ordered_json;

inline constexpr size_t kJsonDepthMax = 100;               ///< arrays and objects within each other
inline constexpr size_t kJsonValuesMax = size_t{1} << 21;  ///< in one text: a value takes far more memory than its text

/// Reads a JSON text (RFC 8259) from somebody we don't trust. A byte order mark is skipped. INVALID_ARGUMENT, which
/// says where but never repeats what was sent, for anything else than one value, for bytes or escapes that are no
/// UTF-8, for a name that an object has twice, for a number beyond a double's range, and for more than the limits
/// above.
Result<Json> parse_json(std::string_view text);

/// On one line. Strings that are no UTF-8 come out with U+FFFD.
std::string write_json(const Json& value);

}  // namespace sluice::server
