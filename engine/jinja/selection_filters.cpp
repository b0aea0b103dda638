// map, select, reject and their likes: filters that apply a filter or a test to each item.

#include <array>
#include <string>

#include "engine/jinja/filters.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/subscripts.h"
#include "engine/jinja/tests.h"

namespace sluice::jinja {
namespace {

/// The arguments but for the first `count` positional ones.
Arguments without_first(const Arguments& arguments, size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(), rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

Result<std::string> name_argument(const Arguments& arguments, size_t index, std::string_view what) {
  const Value& value = arguments.positional[index];
  if (!value.is(Kind::kString)) return wrong_use("the name of a " + std::string(what) + " must be a string");
  return value.bytes();
}

Result<Value> map_attribute(Runtime& runtime, const std::vector<Value>& items, const Arguments& arguments) {
  if (!arguments.positional.empty()) return wrong_use("map() takes a filter or an attribute, not both");
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("map", arguments, {"attribute", "default"}, 1));
  std::vector<Value> mapped;
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(Value value, get_path(runtime, item, *bound[0]));
    if (value.is(Kind::kUndefined) && bound[1]) value = *bound[1];
    mapped.push_back(std::move(value));
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(mapped));
}

Result<Value> map_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  std::vector<Value> items;
  if (is_true(input)) {
    SLUICE_ASSIGN_OR_RETURN(items, items_of(runtime, input));
  }
  if (arguments.find("attribute") != nullptr) return map_attribute(runtime, items, arguments);
  if (arguments.positional.empty()) return wrong_use("map requires a filter argument");
  SLUICE_ASSIGN_OR_RETURN(const std::string name, name_argument(arguments, 0, "filter"));
  const Arguments rest = without_first(arguments, 1);
  std::vector<Value> mapped;
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(Value value, apply_filter(runtime, name, item, rest));
    mapped.push_back(std::move(value));
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(mapped));
}

/// Which items select and the others keep.
struct Selection {
  bool by_attribute = false;
  bool keeps = true;  ///< those that pass the test; else those that fail it
};

Result<bool> passes(Runtime& runtime, const Value& value, const Arguments& arguments, size_t test_index) {
  if (arguments.positional.size() <= test_index) return is_true(value);
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_steps(static_cast<int64_t>(arguments.positional.size())));
  SLUICE_ASSIGN_OR_RETURN(const std::string name, name_argument(arguments, test_index, "test"));
  return apply_test(runtime, name, value, without_first(arguments, test_index + 1));
}

Result<Value> selected(Runtime& runtime, const Value& input, const Arguments& arguments, Selection selection) {
  std::vector<Value> kept;
  if (!is_true(input)) return runtime.sequence(SequenceKind::kGenerator, {});
  if (selection.by_attribute && arguments.positional.empty()) return wrong_use("Missing parameter for attribute name");
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(const Value tested, selection.by_attribute
                                                    ? get_path(runtime, item, arguments.positional[0])
                                                    : Result<Value>(item));
    SLUICE_ASSIGN_OR_RETURN(const bool pass, passes(runtime, tested, arguments, selection.by_attribute ? 1 : 0));
    if (pass == selection.keeps) kept.push_back(item);
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(kept));
}

Result<Value> select_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return selected(runtime, input, arguments, {.by_attribute = false, .keeps = true});
}
Result<Value> reject_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return selected(runtime, input, arguments, {.by_attribute = false, .keeps = false});
}
Result<Value> selectattr_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return selected(runtime, input, arguments, {.by_attribute = true, .keeps = true});
}
Result<Value> rejectattr_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return selected(runtime, input, arguments, {.by_attribute = true, .keeps = false});
}

constexpr std::array<FilterEntry, 5> kFilters = {{{"map", map_filter},
                                                  {"reject", reject_filter},
                                                  {"rejectattr", rejectattr_filter},
                                                  {"select", select_filter},
                                                  {"selectattr", selectattr_filter}}};

}  // namespace

std::span<const FilterEntry> selection_filters() {
  return kFilters;
}

}  // namespace sluice::jinja
