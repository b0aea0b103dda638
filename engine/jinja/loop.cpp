#include "engine/jinja/loop.h"

#include "engine/jinja/operators.h"

namespace sluice::jinja {
namespace {

Value number(size_t value) {
  return Value(static_cast<int64_t>(value));
}

}  // namespace

std::optional<Value> loop_attribute(const Value& value, std::string_view name) {
  const Loop& loop = value.loop();
  const size_t index0 = loop.index0;
  const size_t length = loop.items.size();
  if (name == "index0") return number(index0);
  if (name == "index") return number(index0 + 1);
  if (name == "revindex0") return number(length - index0 - 1);
  if (name == "revindex") return number(length - index0);
  if (name == "first") return Value(index0 == 0);
  if (name == "last") return Value(index0 + 1 >= length);
  if (name == "length") return number(length);
  if (name == "depth0") return Value(loop.depth0);
  if (name == "depth") return Value(loop.depth0 + 1);
  if (name == "previtem") return index0 > 0 ? loop.items[index0 - 1] : Value::undefined("there is no previous item");
  if (name == "nextitem") {
    return index0 + 1 < length ? loop.items[index0 + 1] : Value::undefined("there is no next item");
  }
  if (name == "cycle" || name == "changed") return make_method(value, name);
  return std::nullopt;
}

Result<Value> call_loop_method(Runtime& runtime, Loop& loop, std::string_view name, const Arguments& arguments) {
  const std::vector<Value>& values = arguments.positional;
  if (!arguments.named.empty()) return wrong_use("loop." + std::string(name) + "() takes no named arguments");
  if (name == "cycle") {
    if (values.empty()) return wrong_use("no items for cycling given");
    return values[loop.index0 % values.size()];
  }
  if (loop.last_changed && loop.last_changed->size() == values.size()) {
    bool is_same = true;
    for (size_t i = 0; i < values.size() && is_same; ++i) {
      SLUICE_ASSIGN_OR_RETURN(is_same, is_equal(runtime, values[i], (*loop.last_changed)[i]));
    }
    if (is_same) return Value(false);
  }
  loop.last_changed = values;
  return Value(true);
}

}  // namespace sluice::jinja
