#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/jinja/runtime.h"

namespace sluice::jinja {

enum class MethodAccess {
  kNone,       ///< there is no such method
  kAllowed,    ///< there is one
  kForbidden,  ///< there is one, but it would change what it belongs to
};

/// Whether a value of that type has that method in Python.
MethodAccess method_access(const Value& self, std::string_view name);

/// `self.name(arguments)`. A method that Python has and this doesn't is FAILED_PRECONDITION.
Result<Value> call_method(Runtime& runtime, const Value& self, std::string_view name, const Arguments& arguments);

/// The same for a string.
Result<Value> call_text_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments);

}  // namespace sluice::jinja
