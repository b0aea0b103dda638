#include "engine/jinja/runtime.h"

#include <algorithm>

#include "engine/jinja/print.h"

namespace sluice::jinja {

Status Runtime::check_depth(int32_t depth) const {
  const int32_t depth_max = budget_.limits().value_depth_max;
  if (depth <= depth_max) return {};
  return resource_exhausted("the template puts lists or dicts more than " + std::to_string(depth_max) +
                            " levels within each other");
}

Result<Value> Runtime::text(Text text) {
  SLUICE_RETURN_IF_ERROR(budget_.take_value(text.size()));
  return Value(std::move(text));
}

Result<Value> Runtime::sequence(SequenceKind kind, std::vector<Value> items) {
  SLUICE_RETURN_IF_ERROR(budget_.take_value(list_bytes(items.size())));
  Value value = make_sequence(kind, std::move(items));
  SLUICE_RETURN_IF_ERROR(check_depth(value.depth()));
  return value;
}

Result<Value> Runtime::dict(Dict dict) {
  SLUICE_RETURN_IF_ERROR(budget_.take_value(2 * list_bytes(dict.size())));
  SLUICE_RETURN_IF_ERROR(check_depth(dict.depth()));
  return make_dict(std::move(dict));
}

Result<Value> Runtime::callable(Callable callable) {
  callable.depth = std::max(depth_around(callable.items), callable.self.depth() + 1);
  SLUICE_RETURN_IF_ERROR(budget_.take_value(list_bytes(callable.items.size() + 4)));
  SLUICE_RETURN_IF_ERROR(check_depth(callable.depth));
  return Value(std::make_shared<Callable>(std::move(callable)));
}

Status wrong_use(std::string problem) {
  return failed_precondition(std::move(problem));
}

Status used_undefined(const Value& value) {
  return failed_precondition(value.problem());
}

Status take_key(Runtime& runtime, const Value& key) {
  if (key.is(Kind::kString)) return runtime.budget().take_work(key.bytes().size());
  const bool is_hashable = !key.is(Kind::kDict) && (!key.is(Kind::kSequence) || Dict::is_key(key));
  return is_hashable ? Status() : wrong_use("unhashable type: '" + type_name(key) + "'");
}

const Value* Arguments::find(std::string_view name) const {
  for (const auto& [key, value] : named) {
    if (key == name) return &value;
  }
  return nullptr;
}

Result<Bound> bind(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
                   size_t required) {
  const std::string prefix = std::string(function) + "() ";
  if (arguments.positional.size() > names.size()) {
    return wrong_use(prefix + "takes at most " + std::to_string(names.size()) + " arguments, got " +
                     std::to_string(arguments.positional.size()));
  }
  Bound bound(arguments.positional.begin(), arguments.positional.end());
  bound.resize(names.size());
  for (const auto& [name, value] : arguments.named) {
    const auto* const place = std::find(names.begin(), names.end(), name);
    if (place == names.end()) return wrong_use(prefix + "has no parameter \"" + name + "\"");
    std::optional<Value>& slot = bound[static_cast<size_t>(place - names.begin())];
    if (slot) return wrong_use(prefix + "got \"" + name + "\" twice");
    slot = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!bound[i]) return wrong_use(prefix + "needs \"" + std::string(*(names.begin() + i)) + "\"");
  }
  return bound;
}

Result<int64_t> int_argument(const std::optional<Value>& argument, std::string_view name, int64_t fallback) {
  if (!argument) return fallback;
  if (argument->is(Kind::kUndefined)) return used_undefined(*argument);
  if (argument->is(Kind::kInt) || argument->is(Kind::kBool)) return argument->as_int();
  return wrong_use(std::string(name) + " must be an integer, not " + type_name(*argument));
}

Result<Text> text_argument(Runtime& runtime, const std::optional<Value>& argument, const Text& fallback) {
  if (!argument) return fallback;
  return to_text(runtime.budget(), *argument);
}

bool flag_argument(const std::optional<Value>& argument, bool fallback) {
  return argument ? is_true(*argument) : fallback;
}

}  // namespace sluice::jinja
