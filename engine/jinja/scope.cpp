#include "engine/jinja/scope.h"

namespace sluice::jinja {

const Value* Scope::find(std::string_view name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    for (const auto& [candidate, value] : scope->variables) {
      if (candidate == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [candidate, old] : variables) {
    if (candidate == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

void Scope::capture() {
  for (Scope* scope = this; scope != nullptr && !scope->is_captured; scope = scope->parent) scope->is_captured = true;
}

}  // namespace sluice::jinja
