#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

bool is_test(std::string_view name);
/// `value is name(arguments)`.
Result<bool> apply_test(Runtime& runtime, std::string_view name, const Value& value, const Arguments& arguments);

}  // namespace sluice::jinja
