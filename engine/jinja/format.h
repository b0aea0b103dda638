#pragma once

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

/// Python's `format % values`.
Result<Value> format_percent(Runtime& runtime, const Text& format, const Value& values);
/// Python's `format.format(arguments)`, with "{}", "{0}", "{name}", "{name.attribute[key]}", "!r", "!s" and the
/// format specifications of strings and numbers.
Result<Value> format_braces(Runtime& runtime, const Text& format, const Arguments& arguments);

}  // namespace sluice::jinja
