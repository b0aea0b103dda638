#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::jinja {

/// What stands between the quotes, with Python's escapes resolved.
Result<std::string> unescape(std::string_view literal);

}  // namespace sluice::jinja
