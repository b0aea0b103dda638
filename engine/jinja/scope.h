#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "engine/jinja/value.h"

namespace sluice::jinja {

/// The variables of a block, a loop or a macro. What isn't found here is looked for in the parent.
struct Scope {
  Scope* parent = nullptr;
  bool is_captured = false;  ///< a macro or a recursive loop may come back to it: it has to outlive its block
  std::vector<std::pair<std::string_view, Value>> variables;

  const Value* find(std::string_view name) const;
  void set(std::string_view name, Value value);
  /// This one and those around it.
  void capture();
};

}  // namespace sluice::jinja
