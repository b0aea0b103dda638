// Filters that compare items with each other.

#include <algorithm>
#include <array>
#include <string>

#include "engine/jinja/filters.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/subscripts.h"
#include "engine/jinja/text_tools.h"

namespace sluice::jinja {
namespace {

struct Keyed {
  Value key;
  Value item;
};

struct Order {
  std::optional<Value> attribute;  ///< what to compare; several with commas between them
  bool is_case_sensitive = false;
  bool is_reverse = false;
  /// Compares lists of keys, even of one: of equal ones nobody asks which is less, so they may be of any type.
  bool has_key_lists = false;
};

Value without_case(const Value& key, const Order& order) {
  if (order.is_case_sensitive || !key.is(Kind::kString)) return key;
  return Value(in_case(key.text(), LetterCase::kLower));
}

Result<Value> key_of(Runtime& runtime, const Value& item, const Order& order) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(item.is(Kind::kString) ? item.bytes().size() : 0));
  if (!order.attribute || order.attribute->is(Kind::kNone)) {
    return order.has_key_lists ? make_list({without_case(item, order)}) : without_case(item, order);
  }
  std::vector<Value> paths = {*order.attribute};
  if (order.has_key_lists && order.attribute->is(Kind::kString)) {
    SLUICE_ASSIGN_OR_RETURN(paths, split(runtime, order.attribute->text(), Text(",", Origin::kTemplate), -1, false));
  }
  std::vector<Value> keys;
  for (const Value& path : paths) {
    SLUICE_ASSIGN_OR_RETURN(const Value key, get_path(runtime, item, path));
    keys.push_back(without_case(key, order));
  }
  return order.has_key_lists ? make_list(std::move(keys)) : keys.front();
}

Result<std::vector<Keyed>> with_keys(Runtime& runtime, const std::vector<Value>& items, const Order& order) {
  std::vector<Keyed> keyed;
  keyed.reserve(items.size());
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(Value key, key_of(runtime, item, order));
    keyed.push_back({std::move(key), item});
  }
  return keyed;
}

/// [begin, middle) and [middle, end) are sorted; merges them. A comparison may fail, which std::sort has no way for.
Status merge(Runtime& runtime, std::vector<Keyed>& items, size_t begin, size_t middle, size_t end) {
  std::vector<Keyed> merged;
  merged.reserve(end - begin);
  size_t left = begin;
  size_t right = middle;
  while (left < middle && right < end) {
    SLUICE_ASSIGN_OR_RETURN(const bool takes_right, is_less(runtime, items[right].key, items[left].key));
    merged.push_back(std::move(items[takes_right ? right++ : left++]));
  }
  while (left < middle) merged.push_back(std::move(items[left++]));
  while (right < end) merged.push_back(std::move(items[right++]));
  std::move(merged.begin(), merged.end(), items.begin() + static_cast<std::ptrdiff_t>(begin));
  return {};
}

Status sort_by_key(Runtime& runtime, std::vector<Keyed>& items, bool is_reverse) {
  // Python keeps the order of equal items also where it sorts the other way round.
  if (is_reverse) std::reverse(items.begin(), items.end());
  for (size_t run = 1; run < items.size(); run *= 2) {
    for (size_t begin = 0; begin + run < items.size(); begin += 2 * run) {
      SLUICE_RETURN_IF_ERROR(merge(runtime, items, begin, begin + run, std::min(begin + 2 * run, items.size())));
    }
  }
  if (is_reverse) std::reverse(items.begin(), items.end());
  return {};
}

std::vector<Value> items_without_keys(std::vector<Keyed> keyed) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (Keyed& entry : keyed) items.push_back(std::move(entry.item));
  return items;
}

Result<Value> sort_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("sort", arguments, {"reverse", "case_sensitive", "attribute"}));
  const Order order{.attribute = bound[2],
                    .is_case_sensitive = flag_argument(bound[1], false),
                    .is_reverse = flag_argument(bound[0], false),
                    .has_key_lists = true};
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Keyed> keyed, with_keys(runtime, items, order));
  SLUICE_RETURN_IF_ERROR(sort_by_key(runtime, keyed, order.is_reverse));
  return runtime.list(items_without_keys(std::move(keyed)));
}

Result<Value> dictsort_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("dictsort", arguments, {"case_sensitive", "by", "reverse"}));
  const std::string by = bound[1] && bound[1]->is(Kind::kString) ? bound[1]->bytes() : "key";
  if (by != "key" && by != "value") return wrong_use("You can only sort by either \"key\" or \"value\"");
  if (input.is(Kind::kUndefined)) return used_undefined(input);
  if (!input.is(Kind::kDict)) return wrong_use("'" + type_name(input) + "' object has no attribute 'items'");
  const Order order{.attribute = std::nullopt,
                    .is_case_sensitive = flag_argument(bound[0], false),
                    .is_reverse = false,
                    .has_key_lists = false};
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(3 * input.dict().size())));
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : input.dict().entries()) {
    keyed.push_back(
        {without_case(by == "key" ? key : value, order), make_sequence(SequenceKind::kTuple, {key, value})});
  }
  SLUICE_RETURN_IF_ERROR(sort_by_key(runtime, keyed, flag_argument(bound[2], false)));
  return runtime.list(items_without_keys(std::move(keyed)));
}

/// Each item with what the arguments case_sensitive and attribute make of it.
Result<std::vector<Keyed>> keyed_by(Runtime& runtime, const Value& input, std::string_view filter,
                                    const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(filter, arguments, {"case_sensitive", "attribute"}));
  const Order order{.attribute = bound[1],
                    .is_case_sensitive = flag_argument(bound[0], false),
                    .is_reverse = false,
                    .has_key_lists = false};
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Keyed> keyed, with_keys(runtime, items, order));
  return keyed;
}

Result<Value> unique_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Keyed> keyed, keyed_by(runtime, input, "unique", arguments));
  Dict seen;
  std::vector<Value> kept;
  for (const Keyed& entry : keyed) {
    if (!Dict::is_key(entry.key)) return wrong_use("unhashable type: '" + type_name(entry.key) + "'");
    if (seen.find(entry.key) == nullptr) kept.push_back(entry.item);
    seen.set(entry.key, Value());
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(kept));
}

Result<Value> extreme(Runtime& runtime, const Value& input, const Arguments& arguments, bool wants_largest) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Keyed> keyed,
                          keyed_by(runtime, input, wants_largest ? "max" : "min", arguments));
  if (keyed.empty()) return Value::undefined("No aggregated item, sequence was empty.");
  size_t best = 0;
  for (size_t i = 1; i < keyed.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool is_better, wants_largest ? is_less(runtime, keyed[best].key, keyed[i].key)
                                                                : is_less(runtime, keyed[i].key, keyed[best].key));
    if (is_better) best = i;
  }
  return keyed[best].item;
}

Result<Value> min_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return extreme(runtime, input, arguments, /*wants_largest=*/false);
}

Result<Value> max_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  return extreme(runtime, input, arguments, /*wants_largest=*/true);
}

/// Pairs of what is common and the list of those that have it.
Result<Value> groupby_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("groupby", arguments, {"attribute", "default", "case_sensitive"}, 1));
  const Order order{.attribute = std::nullopt,
                    .is_case_sensitive = flag_argument(bound[2], false),
                    .is_reverse = false,
                    .has_key_lists = false};
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  std::vector<Keyed> keyed;
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(Value key, get_path(runtime, item, *bound[0]));
    if (key.is(Kind::kUndefined) && bound[1]) key = *bound[1];
    keyed.push_back({without_case(key, order), make_sequence(SequenceKind::kTuple, {key, item})});
  }
  SLUICE_RETURN_IF_ERROR(sort_by_key(runtime, keyed, /*is_reverse=*/false));
  std::vector<Value> groups;
  for (size_t begin = 0; begin < keyed.size();) {
    std::vector<Value> members;
    size_t end = begin;
    for (bool is_same = true; is_same && end < keyed.size();) {
      members.push_back(keyed[end++].item.sequence().items[1]);
      if (end == keyed.size()) break;
      SLUICE_ASSIGN_OR_RETURN(is_same, is_equal(runtime, keyed[begin].key, keyed[end].key));
    }
    SLUICE_ASSIGN_OR_RETURN(Value list, runtime.list(std::move(members)));
    SLUICE_ASSIGN_OR_RETURN(
        Value group, runtime.sequence(SequenceKind::kTuple, {keyed[begin].item.sequence().items[0], std::move(list)}));
    groups.push_back(std::move(group));
    begin = end;
  }
  return runtime.list(std::move(groups));
}

constexpr std::array<FilterEntry, 6> kFilters = {{{"dictsort", dictsort_filter},
                                                  {"groupby", groupby_filter},
                                                  {"max", max_filter},
                                                  {"min", min_filter},
                                                  {"sort", sort_filter},
                                                  {"unique", unique_filter}}};

}  // namespace

std::span<const FilterEntry> order_filters() {
  return kFilters;
}

}  // namespace sluice::jinja
