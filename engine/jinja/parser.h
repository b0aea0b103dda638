#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/jinja/ast.h"
#include "engine/jinja/limits.h"

namespace sluice::jinja {

/// A template's source as a tree. INVALID_ARGUMENT names the line; RESOURCE_EXHAUSTED the limit. Never recurses
/// deeper than limits.nesting_max.
Result<Ast> parse(std::string_view source, const Limits& limits);

}  // namespace sluice::jinja
