// The operators that compare values and look for them.

#include <algorithm>
#include <string>
#include <utility>

#include "engine/jinja/operators.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

bool is_integer(const Value& value) {
  return value.is(Kind::kInt) || value.is(Kind::kBool);
}

bool is_list_or_tuple(const Value& value) {
  if (!value.is(Kind::kSequence)) return false;
  return value.sequence().kind == SequenceKind::kList || value.sequence().kind == SequenceKind::kTuple;
}

std::string_view name_of(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess:
      return "<";
    case Comparison::kLessEqual:
      return "<=";
    case Comparison::kGreater:
      return ">";
    default:
      return ">=";
  }
}

Result<bool> equal_sequences(Runtime& runtime, const Sequence& left, const Sequence& right) {
  if (&left == &right) return true;
  const bool is_comparable = left.kind == right.kind && left.has_subscripts();
  if (!is_comparable || left.items.size() != right.items.size()) return false;
  for (size_t i = 0; i < left.items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left.items[i], right.items[i]));
    if (!equal) return false;
  }
  return true;
}

Result<bool> equal_dicts(Runtime& runtime, const Dict& left, const Dict& right) {
  if (left.size() != right.size()) return false;
  for (const auto& [key, value] : left.entries()) {
    const Value* const other = right.find(key);
    if (other == nullptr) return false;
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, value, *other));
    if (!equal) return false;
  }
  return true;
}

bool equal_numbers(const Value& left, const Value& right) {
  const bool are_integers = is_integer(left) && is_integer(right);
  return are_integers ? left.as_int() == right.as_int() : left.as_double() == right.as_double();
}

Result<bool> less_sequences(Runtime& runtime, const Sequence& left, const Sequence& right) {
  for (size_t i = 0; i < std::min(left.items.size(), right.items.size()); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left.items[i], right.items[i]));
    if (!equal) return is_less(runtime, left.items[i], right.items[i]);
  }
  return left.items.size() < right.items.size();
}

Status not_comparable(std::string_view sign, const Value& left, const Value& right) {
  if (left.is(Kind::kUndefined)) return used_undefined(left);
  if (right.is(Kind::kUndefined)) return used_undefined(right);
  return wrong_use("'" + std::string(sign) + "' not supported between instances of '" + type_name(left) + "' and '" +
                   type_name(right) + "'");
}

bool is_ordered(const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return true;
  if (left.is(Kind::kString) && right.is(Kind::kString)) return true;
  return is_list_or_tuple(left) && is_list_or_tuple(right) && left.sequence().kind == right.sequence().kind;
}

Result<bool> compare_order(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  if (!is_ordered(left, right)) return not_comparable(name_of(comparison), left, right);
  const bool swaps = comparison == Comparison::kGreater || comparison == Comparison::kGreaterEqual;
  SLUICE_ASSIGN_OR_RETURN(const bool less, swaps ? is_less(runtime, right, left) : is_less(runtime, left, right));
  if (less || comparison == Comparison::kLess || comparison == Comparison::kGreater) return less;
  return is_equal(runtime, left, right);
}

}  // namespace

Result<bool> is_equal(Runtime& runtime, const Value& left, const Value& right) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_steps());
  if (left.is_number() && right.is_number()) return equal_numbers(left, right);
  if (left.kind() != right.kind()) return false;
  if (left.is(Kind::kString)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(std::min(left.bytes().size(), right.bytes().size())));
    return left.bytes() == right.bytes();
  }
  if (left.is(Kind::kSequence)) return equal_sequences(runtime, left.sequence(), right.sequence());
  if (left.is(Kind::kDict)) return equal_dicts(runtime, left.dict(), right.dict());
  return left.is_same(right);
}

Result<bool> is_less(Runtime& runtime, const Value& left, const Value& right) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_steps());
  if (!is_ordered(left, right)) return not_comparable("<", left, right);
  if (left.is(Kind::kString)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(std::min(left.bytes().size(), right.bytes().size())));
    return left.bytes() < right.bytes();
  }
  if (left.is(Kind::kSequence)) return less_sequences(runtime, left.sequence(), right.sequence());
  if (is_integer(left) && is_integer(right)) return left.as_int() < right.as_int();
  return left.as_double() < right.as_double();
}

Result<bool> compare(Runtime& runtime, Comparison comparison, const Value& left, const Value& right) {
  switch (comparison) {
    case Comparison::kEqual:
      return is_equal(runtime, left, right);
    case Comparison::kNotEqual: {
      SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, left, right));
      return !equal;
    }
    case Comparison::kIn:
      return contains(runtime, right, left);
    case Comparison::kNotIn: {
      SLUICE_ASSIGN_OR_RETURN(const bool is_in, contains(runtime, right, left));
      return !is_in;
    }
    default:
      return compare_order(runtime, comparison, left, right);
  }
}

Result<bool> contains(Runtime& runtime, const Value& container, const Value& item) {
  if (container.is(Kind::kString)) {
    if (item.is(Kind::kUndefined)) return used_undefined(item);
    if (!item.is(Kind::kString)) {
      return wrong_use("'in <string>' requires string as left operand, not " + type_name(item));
    }
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(container.bytes().size(), item.bytes().size()));
    return container.bytes().find(item.bytes()) != std::string::npos;
  }
  if (container.is(Kind::kDict)) {
    SLUICE_RETURN_IF_ERROR(take_key(runtime, item));
    return container.dict().find(item) != nullptr;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, container));
  for (const Value& candidate : items) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, candidate, item));
    if (equal) return true;
  }
  return false;
}

namespace {

Result<std::vector<Value>> characters_of(Runtime& runtime, const Text& text) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(character_count(text.bytes()))));
  std::vector<Value> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t size = character_at(text.bytes(), i).size;
    Text character = text.slice(i, size);
    character.set_markup(false);
    characters.emplace_back(std::move(character));
    i += size;
  }
  return characters;
}

}  // namespace

Result<std::vector<Value>> items_of(Runtime& runtime, const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return std::vector<Value>();
    case Kind::kString:
      return characters_of(runtime, value.text());
    case Kind::kSequence: {
      const Sequence& sequence = value.sequence();
      SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(Runtime::list_bytes(sequence.items.size())));
      if (sequence.kind != SequenceKind::kGenerator) return sequence.items;
      if (std::exchange(sequence.is_used_up, true)) return std::vector<Value>();
      return sequence.items;
    }
    case Kind::kDict: {
      SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(Runtime::list_bytes(value.dict().size())));
      std::vector<Value> keys;
      keys.reserve(value.dict().size());
      for (const auto& entry : value.dict().entries()) keys.push_back(entry.first);
      return keys;
    }
    default:
      return wrong_use("'" + type_name(value) + "' object is not iterable");
  }
}

}  // namespace sluice::jinja
