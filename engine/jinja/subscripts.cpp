#include "engine/jinja/subscripts.h"

#include <algorithm>
#include <optional>
#include <string>

#include "engine/jinja/loop.h"
#include "engine/jinja/methods.h"
#include "engine/jinja/number_text.h"
#include "engine/jinja/print.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

std::string described(const Value& object) {
  return object.is(Kind::kNone) ? "None" : "'" + type_name(object) + " object'";
}

Value missing(const Value& object, std::string_view name) {
  return Value::undefined(described(object) + " has no attribute '" + std::string(name) + "'");
}

/// Nothing where the object has no such attribute.
std::optional<Value> attribute_of(const Value& object, std::string_view name) {
  if (name.starts_with("__")) {
    return Value::undefined("access to attribute '" + std::string(name) + "' of '" + type_name(object) +
                            "' object is unsafe.");
  }
  if (object.is(Kind::kNamespace)) {
    const Value* const found = object.space().attributes.find(name);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  if (object.is(Kind::kLoop)) return loop_attribute(object, name);
  if (object.is(Kind::kCallable) && object.callable().kind == Callable::Kind::kCycler && name == "current") {
    return object.callable().items[object.callable().position % object.callable().items.size()];
  }
  switch (method_access(object, name)) {
    case MethodAccess::kNone:
      return std::nullopt;
    case MethodAccess::kForbidden:
      return Value::undefined("access to attribute '" + std::string(name) + "' of '" + type_name(object) +
                              "' object is unsafe.");
    case MethodAccess::kAllowed:
      return make_method(object, name);
  }
  return std::nullopt;
}

size_t length_of(const Value& object) {
  return object.is(Kind::kString) ? character_count(object.bytes()) : object.sequence().items.size();
}

std::optional<Value> item_at(const Value& object, int64_t index) {
  if (object.is(Kind::kString) || object.sequence().has_subscripts()) {
    const auto length = static_cast<int64_t>(length_of(object));
    if (index < 0) index += length;
    if (index < 0 || index >= length) return std::nullopt;
    if (object.is(Kind::kSequence)) return object.sequence().items[static_cast<size_t>(index)];
    const size_t begin = byte_of_character(object.bytes(), static_cast<size_t>(index));
    return Value(object.text().slice(begin, character_at(object.bytes(), begin).size));
  }
  return std::nullopt;
}

/// Nothing where `object[key]` raises in Python.
std::optional<Value> item_of(const Value& object, const Value& key) {
  if (object.is(Kind::kDict)) {
    const Value* const found = object.dict().find(key);
    return found == nullptr ? std::nullopt : std::optional<Value>(*found);
  }
  const bool is_index = key.is(Kind::kInt) || key.is(Kind::kBool);
  if (!is_index || (!object.is(Kind::kString) && !object.is(Kind::kSequence))) return std::nullopt;
  return item_at(object, key.as_int());
}

struct Bounds {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t step = 1;
};

Result<int64_t> bound_of(const Value& value, int64_t fallback) {
  if (value.is(Kind::kNone)) return fallback;
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  if (value.is(Kind::kInt) || value.is(Kind::kBool)) return value.as_int();
  return wrong_use("slice indices must be integers or None");
}

/// As Python's slice.indices has them.
Result<Bounds> bounds_of(int64_t length, const Value& begin, const Value& end, const Value& step) {
  Bounds bounds;
  SLUICE_ASSIGN_OR_RETURN(bounds.step, bound_of(step, 1));
  if (bounds.step == 0) return wrong_use("slice step cannot be zero");
  // A step past the length takes one item, whatever its size.
  bounds.step = std::clamp(bounds.step, -length - 1, length + 1);
  const int64_t lowest = bounds.step < 0 ? -1 : 0;
  const int64_t highest = bounds.step < 0 ? length - 1 : length;
  const auto clipped = [&](int64_t value) { return std::clamp(value < 0 ? value + length : value, lowest, highest); };
  SLUICE_ASSIGN_OR_RETURN(const int64_t first, bound_of(begin, 0));
  SLUICE_ASSIGN_OR_RETURN(const int64_t last, bound_of(end, 0));
  bounds.begin = begin.is(Kind::kNone) ? (bounds.step < 0 ? highest : lowest) : clipped(first);
  bounds.end = end.is(Kind::kNone) ? (bounds.step < 0 ? lowest : highest) : clipped(last);
  return bounds;
}

template <typename Take>
void for_each_index(const Bounds& bounds, const Take& take) {
  for (int64_t i = bounds.begin; bounds.step > 0 ? i < bounds.end : i > bounds.end; i += bounds.step) {
    take(static_cast<size_t>(i));
  }
}

Text slice_text(const Text& text, const Bounds& bounds) {
  if (bounds.step == 1) {
    const size_t begin = byte_of_character(text.bytes(), static_cast<size_t>(bounds.begin));
    const size_t end = byte_of_character(text.bytes(), static_cast<size_t>(std::max(bounds.begin, bounds.end)));
    return text.slice(begin, end - begin);
  }
  std::vector<size_t> begins;
  for (size_t i = 0; i < text.size(); i += character_at(text.bytes(), i).size) begins.push_back(i);
  Text out;
  for_each_index(bounds, [&](size_t i) { out.append(text, begins[i], character_at(text.bytes(), begins[i]).size); });
  return out;
}

}  // namespace

Result<Value> get_attribute(Runtime& runtime, const Value& object, std::string_view name) {
  if (object.is(Kind::kUndefined)) return used_undefined(object);
  if (const std::optional<Value> attribute = attribute_of(object, name)) {
    if (attribute->is(Kind::kCallable)) SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(0));  // a bound method
    return *attribute;
  }
  const std::optional<Value> item =
      object.is(Kind::kDict) ? item_of(object, Value(name, Origin::kTemplate)) : std::nullopt;
  return item ? *item : missing(object, name);
}

Result<Value> get_item(Runtime& runtime, const Value& object, const Value& key) {
  if (object.is(Kind::kUndefined)) return used_undefined(object);
  if (object.is(Kind::kString)) SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(object.bytes().size()));
  if (key.is(Kind::kString)) SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(key.bytes().size()));
  if (const std::optional<Value> item = item_of(object, key)) return *item;
  if (key.is(Kind::kString)) {
    if (const std::optional<Value> attribute = attribute_of(object, key.bytes())) return *attribute;
    return missing(object, key.bytes());
  }
  SLUICE_ASSIGN_OR_RETURN(const Text name, to_repr(runtime.budget(), key));
  return Value::undefined(described(object) + " has no element " + name.bytes());
}

Result<Value> get_slice(Runtime& runtime, const Value& object, const Value& begin, const Value& end,
                        const Value& step) {
  if (object.is(Kind::kUndefined)) return used_undefined(object);
  const bool has_items = object.is(Kind::kSequence) && object.sequence().has_subscripts();
  if (!object.is(Kind::kString) && !has_items) return wrong_use("'" + type_name(object) + "' object has no slices");
  SLUICE_ASSIGN_OR_RETURN(const Bounds bounds, bounds_of(static_cast<int64_t>(length_of(object)), begin, end, step));
  if (object.is(Kind::kString)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(object.bytes().size()));
    if (bounds.step != 1) SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(object.bytes().size() * sizeof(size_t)));
    return runtime.text(slice_text(object.text(), bounds));
  }
  std::vector<Value> items;
  for_each_index(bounds, [&](size_t i) { items.push_back(object.sequence().items[i]); });
  return runtime.sequence(object.sequence().kind, std::move(items));
}

Result<Value> get_path(Runtime& runtime, const Value& object, const Value& path) {
  if (!path.is(Kind::kString)) return get_item(runtime, object, path);
  Value value = object;
  std::string_view rest = path.bytes();
  while (true) {
    const size_t dot = rest.find('.');
    const std::string_view part = rest.substr(0, dot);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    const std::optional<int64_t> index = is_index ? parse_int(part, 10) : std::nullopt;
    SLUICE_ASSIGN_OR_RETURN(value, get_item(runtime, value, index ? Value(*index) : Value(part, Origin::kTemplate)));
    if (dot == std::string_view::npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

}  // namespace sluice::jinja
