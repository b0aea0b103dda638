#pragma once

#include <optional>
#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

/// `loop.name`: index, first, previtem and the like; nothing where there is no such attribute.
std::optional<Value> loop_attribute(const Value& loop, std::string_view name);
/// `loop.cycle(…)` and `loop.changed(…)`.
Result<Value> call_loop_method(Runtime& runtime, Loop& loop, std::string_view name, const Arguments& arguments);

}  // namespace sluice::jinja
