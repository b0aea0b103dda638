#include "engine/jinja/value.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::jinja {
namespace {

/// Equal for equal keys, and for no others.
std::string spelling_of_number(const Value& key) {
  const double number = key.as_double();
  const bool is_whole = !key.is(Kind::kFloat) || (std::floor(number) == number && std::abs(number) < 9e18);
  if (!is_whole) return "f" + std::string(reinterpret_cast<const char*>(&number), sizeof number);
  return "i" + std::to_string(key.is(Kind::kFloat) ? static_cast<int64_t>(number) : key.as_int());
}

std::string spelling_of(const Value& key) {
  if (key.is(Kind::kString)) return "s" + key.bytes();
  if (key.is_number()) return spelling_of_number(key);
  if (!key.is(Kind::kSequence)) return "n";
  std::string spelling = "t";
  for (const Value& item : key.sequence().items) {
    const std::string part = spelling_of(item);
    spelling += std::to_string(part.size()) + ":" + part;
  }
  return spelling;
}

bool is_plain(const Value& value) {
  return value.is(Kind::kString) || value.is_number() || value.is(Kind::kNone);
}

std::string_view sequence_name(SequenceKind kind) {
  switch (kind) {
    case SequenceKind::kList:
      return "list";
    case SequenceKind::kTuple:
      return "tuple";
    case SequenceKind::kRange:
      return "range";
    case SequenceKind::kKeys:
      return "dict_keys";
    case SequenceKind::kValues:
      return "dict_values";
    case SequenceKind::kItems:
      return "dict_items";
    case SequenceKind::kGenerator:
      return "generator";
  }
  return "";
}

std::string_view callable_name(const Callable& callable) {
  switch (callable.kind) {
    case Callable::Kind::kMacro:
      return "Macro";
    case Callable::Kind::kCycler:
      return "Cycler";
    case Callable::Kind::kJoiner:
      return "Joiner";
    case Callable::Kind::kMethod:
      return "builtin_function_or_method";
    case Callable::Kind::kFunction:
      return "function";
  }
  return "";
}

}  // namespace

Value Value::undefined(std::string problem) {
  return Value(Undefined{std::make_shared<const std::string>(std::move(problem))});
}

int32_t Value::depth() const {
  if (is(Kind::kSequence)) return sequence().depth;
  if (is(Kind::kDict)) return dict().depth();
  if (is(Kind::kLoop)) return loop().depth;
  return is(Kind::kCallable) ? callable().depth : 0;
}

bool Value::is_same(const Value& other) const {
  if (kind() != other.kind()) return false;
  switch (kind()) {
    case Kind::kNone:
    case Kind::kUndefined:
      return true;
    case Kind::kBool:
      return as_bool() == other.as_bool();
    case Kind::kInt:
      return as_int() == other.as_int();
    case Kind::kFloat:
      return as_float() == other.as_float();
    case Kind::kString:
      return bytes() == other.bytes();
    case Kind::kSequence:
      return &sequence() == &other.sequence();
    case Kind::kDict:
      return &dict() == &other.dict();
    case Kind::kNamespace:
      return &space() == &other.space();
    case Kind::kLoop:
      return &loop() == &other.loop();
    case Kind::kCallable:
      return &callable() == &other.callable();
  }
  return false;
}

bool Dict::is_key(const Value& value) {
  if (!value.is(Kind::kSequence)) return is_plain(value);
  const Sequence& tuple = value.sequence();
  return tuple.kind == SequenceKind::kTuple && std::all_of(tuple.items.begin(), tuple.items.end(), is_plain);
}

void Dict::set(Value key, Value value) {
  depth_ = std::max({depth_, value.depth() + 1, key.depth() + 1});
  const auto [place, is_new] = index_.emplace(spelling_of(key), entries_.size());
  if (is_new) {
    entries_.emplace_back(std::move(key), std::move(value));
  } else {
    entries_[place->second].second = std::move(value);
  }
}

const Value* Dict::find(const Value& key) const {
  return is_key(key) ? find_spelling(spelling_of(key)) : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  return find_spelling("s" + std::string(key));
}

const Value* Dict::find_spelling(const std::string& spelling) const {
  const auto place = index_.find(spelling);
  return place == index_.end() ? nullptr : &entries_[place->second].second;
}

Value make_sequence(SequenceKind kind, std::vector<Value> items) {
  const int32_t depth = depth_around(items);
  return Value(std::make_shared<const Sequence>(Sequence{.kind = kind, .items = std::move(items), .depth = depth}));
}

int32_t depth_around(const std::vector<Value>& items) {
  int32_t depth = 1;
  for (const Value& item : items) depth = std::max(depth, item.depth() + 1);
  return depth;
}

Value make_list(std::vector<Value> items) {
  return make_sequence(SequenceKind::kList, std::move(items));
}

Value make_dict(Dict dict) {
  return Value(std::make_shared<const Dict>(std::move(dict)));
}

Value make_method(const Value& self, std::string_view name) {
  auto method = std::make_shared<Callable>();
  method->kind = Callable::Kind::kMethod;
  method->name = name;
  method->self = self;
  method->depth = self.depth() + 1;
  return Value(std::move(method));
}

Value make_function(std::string_view name) {
  auto function = std::make_shared<Callable>();
  function->name = name;
  return Value(std::move(function));
}

bool is_true(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
    case Kind::kNone:
      return false;
    case Kind::kBool:
      return value.as_bool();
    case Kind::kInt:
      return value.as_int() != 0;
    case Kind::kFloat:
      return value.as_float() != 0;
    case Kind::kString:
      return !value.bytes().empty();
    case Kind::kSequence:
      return !value.sequence().has_length() || !value.sequence().items.empty();
    case Kind::kDict:
      return value.dict().size() > 0;
    case Kind::kNamespace:
    case Kind::kLoop:
    case Kind::kCallable:
      return true;
  }
  return false;
}

std::string type_name(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      return "Undefined";
    case Kind::kNone:
      return "NoneType";
    case Kind::kBool:
      return "bool";
    case Kind::kInt:
      return "int";
    case Kind::kFloat:
      return "float";
    case Kind::kString:
      return value.text().is_markup() ? "Markup" : "str";
    case Kind::kSequence:
      return std::string(sequence_name(value.sequence().kind));
    case Kind::kDict:
      return "dict";
    case Kind::kNamespace:
      return "Namespace";
    case Kind::kLoop:
      return "LoopContext";
    case Kind::kCallable:
      return std::string(callable_name(value.callable()));
  }
  return "";
}

}  // namespace sluice::jinja
