// Filters that take sequences as they are: parts of them, all of them in another shape.

#include <algorithm>
#include <array>
#include <string>

#include "engine/jinja/filters.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/subscripts.h"
#include "engine/jinja/text_tools.h"

namespace sluice::jinja {
namespace {

Result<Value> list_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("list", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(std::vector<Value> items, items_of(runtime, input));
  return runtime.list(std::move(items));
}

Result<Value> first_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("first", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  return items.empty() ? Value::undefined("No first item, sequence was empty.") : items.front();
}

Result<Value> last_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("last", arguments, {}).status());
  if (input.is(Kind::kSequence) && !input.sequence().has_length()) {
    return wrong_use("'generator' object is not reversible");
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  return items.empty() ? Value::undefined("No last item, sequence was empty.") : items.back();
}

Result<Value> join_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("join", arguments, {"d", "attribute"}));
  SLUICE_ASSIGN_OR_RETURN(const Text separator, text_argument(runtime, bound[0], Text()));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  std::vector<Text> parts;
  parts.reserve(items.size());
  for (const Value& item : items) {
    const bool has_attribute = bound[1] && !bound[1]->is(Kind::kNone);
    SLUICE_ASSIGN_OR_RETURN(const Value part, has_attribute ? get_path(runtime, item, *bound[1]) : Result<Value>(item));
    SLUICE_ASSIGN_OR_RETURN(Text text, to_text(runtime.budget(), part));
    parts.push_back(std::move(text));
  }
  SLUICE_ASSIGN_OR_RETURN(Text text, join(runtime, separator, parts));
  return Value(std::move(text));
}

Result<Value> reverse_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("reverse", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(std::vector<Value> items, items_of(runtime, input));
  std::reverse(items.begin(), items.end());
  if (!input.is(Kind::kString)) return runtime.sequence(SequenceKind::kGenerator, std::move(items));
  Text text;
  for (const Value& item : items) text.append(item.text());
  return runtime.text(std::move(text));
}

Result<Value> items_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("items", arguments, {}).status());
  if (!input.is(Kind::kDict) && !input.is(Kind::kUndefined)) {
    return wrong_use("Can only get item pairs from a mapping.");
  }
  std::vector<Value> items;
  if (input.is(Kind::kDict)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(3 * input.dict().size())));
    for (const auto& [key, value] : input.dict().entries()) {
      items.push_back(make_sequence(SequenceKind::kTuple, {key, value}));
    }
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(items));
}

/// A count of items that a filter makes, which the limits must know before they are made.
Result<size_t> count_of(Runtime& runtime, const std::optional<Value>& argument, std::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, int_argument(argument, name, 0));
  if (count <= 0) return wrong_use(std::string(name) + " must be positive");
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(static_cast<size_t>(count), Runtime::list_bytes(1)));
  return static_cast<size_t>(count);
}

Result<Value> batch_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("batch", arguments, {"linecount", "fill_with"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const size_t count, count_of(runtime, bound[0], "linecount"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  std::vector<Value> lines;
  for (size_t begin = 0; begin < items.size(); begin += count) {
    std::vector<Value> line;
    for (size_t i = begin; i < std::min(begin + count, items.size()); ++i) line.push_back(items[i]);
    if (bound[1] && !bound[1]->is(Kind::kNone)) line.resize(count, *bound[1]);
    SLUICE_ASSIGN_OR_RETURN(Value batch, runtime.list(std::move(line)));
    lines.push_back(std::move(batch));
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(lines));
}

Result<Value> slice_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("slice", arguments, {"slices", "fill_with"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const size_t count, count_of(runtime, bound[0], "slices"));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  std::vector<Value> slices;
  size_t begin = 0;
  for (size_t i = 0; i < count; ++i) {
    const bool is_long = i < items.size() % count;
    const size_t end = begin + items.size() / count + (is_long ? 1 : 0);
    std::vector<Value> slice;
    for (; begin < end; ++begin) slice.push_back(items[begin]);
    if (bound[1] && !bound[1]->is(Kind::kNone) && !is_long) slice.push_back(*bound[1]);
    SLUICE_ASSIGN_OR_RETURN(Value part, runtime.list(std::move(slice)));
    slices.push_back(std::move(part));
  }
  return runtime.sequence(SequenceKind::kGenerator, std::move(slices));
}

Result<Value> sum_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("sum", arguments, {"attribute", "start"}));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, input));
  Value sum = bound[1].value_or(Value(int64_t{0}));
  for (const Value& item : items) {
    const bool has_attribute = bound[0] && !bound[0]->is(Kind::kNone);
    SLUICE_ASSIGN_OR_RETURN(const Value part, has_attribute ? get_path(runtime, item, *bound[0]) : Result<Value>(item));
    SLUICE_ASSIGN_OR_RETURN(sum, apply_binary(runtime, BinaryOperator::kAdd, sum, part));
  }
  return sum;
}

constexpr std::array<FilterEntry, 9> kFilters = {{{"batch", batch_filter},
                                                  {"first", first_filter},
                                                  {"items", items_filter},
                                                  {"join", join_filter},
                                                  {"last", last_filter},
                                                  {"list", list_filter},
                                                  {"reverse", reverse_filter},
                                                  {"slice", slice_filter},
                                                  {"sum", sum_filter}}};

}  // namespace

std::span<const FilterEntry> sequence_filters() {
  return kFilters;
}

}  // namespace sluice::jinja
