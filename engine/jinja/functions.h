#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

/// The functions that every template sees: range, dict, namespace, cycler, joiner, raise_exception, strftime_now.
bool is_function(std::string_view name);
/// raise_exception's message alone is INVALID_ARGUMENT, which nothing else that goes wrong while rendering is.
Result<Value> call_function(Runtime& runtime, std::string_view name, const Arguments& arguments);

}  // namespace sluice::jinja
