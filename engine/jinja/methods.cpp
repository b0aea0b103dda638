#include "engine/jinja/methods.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include "engine/jinja/loop.h"
#include "engine/jinja/operators.h"

namespace sluice::jinja {
namespace {

template <size_t kCount>
bool is_among(const std::array<std::string_view, kCount>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

constexpr std::array<std::string_view, 47> kTextMethods = {
    "capitalize",   "casefold",   "center",    "count",       "encode",    "endswith",     "expandtabs",   "find",
    "format",       "format_map", "index",     "isalnum",     "isalpha",   "isascii",      "isdecimal",    "isdigit",
    "isidentifier", "islower",    "isnumeric", "isprintable", "isspace",   "istitle",      "isupper",      "join",
    "ljust",        "lower",      "lstrip",    "maketrans",   "partition", "removeprefix", "removesuffix", "replace",
    "rfind",        "rindex",     "rjust",     "rpartition",  "rsplit",    "rstrip",       "split",        "splitlines",
    "startswith",   "strip",      "swapcase",  "title",       "translate", "upper",        "zfill"};
constexpr std::array<std::string_view, 6> kDictMethods = {"copy", "fromkeys", "get", "items", "keys", "values"};
constexpr std::array<std::string_view, 5> kDictChanges = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::array<std::string_view, 3> kListMethods = {"copy", "count", "index"};
constexpr std::array<std::string_view, 8> kListChanges = {"append", "clear",  "extend",  "insert",
                                                          "pop",    "remove", "reverse", "sort"};

MethodAccess dict_access(std::string_view name) {
  if (is_among(kDictMethods, name)) return MethodAccess::kAllowed;
  return is_among(kDictChanges, name) ? MethodAccess::kForbidden : MethodAccess::kNone;
}

MethodAccess sequence_access(SequenceKind kind, std::string_view name) {
  const bool is_list = kind == SequenceKind::kList;
  if (is_list && is_among(kListChanges, name)) return MethodAccess::kForbidden;
  const bool counts = is_list || kind == SequenceKind::kTuple || kind == SequenceKind::kRange;
  if (!counts || !is_among(kListMethods, name)) return MethodAccess::kNone;
  return name == "copy" && !is_list ? MethodAccess::kNone : MethodAccess::kAllowed;
}

Result<Value> dict_items(Runtime& runtime, const Dict& dict, std::string_view name) {
  std::vector<Value> items;
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(3 * dict.size())));
  for (const auto& [key, value] : dict.entries()) {
    items.push_back(name == "keys"     ? key
                    : name == "values" ? value
                                       : make_sequence(SequenceKind::kTuple, {key, value}));
  }
  const SequenceKind kind = name == "keys"     ? SequenceKind::kKeys
                            : name == "values" ? SequenceKind::kValues
                                               : SequenceKind::kItems;
  return runtime.sequence(kind, std::move(items));
}

Result<Value> call_dict_method(Runtime& runtime, const Value& self, std::string_view name, const Arguments& arguments) {
  if (name == "get") {
    if (!arguments.named.empty()) return wrong_use("dict.get() takes no keyword arguments");
    SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("get", arguments, {"key", "default"}, 1));
    SLUICE_RETURN_IF_ERROR(take_key(runtime, *bound[0]));
    const Value* const found = self.dict().find(*bound[0]);
    return found != nullptr ? *found : bound[1].value_or(Value());
  }
  if (name == "fromkeys") return wrong_use("dict.fromkeys() is not supported");
  SLUICE_RETURN_IF_ERROR(bind(name, arguments, {}).status());
  return name == "copy" ? Result<Value>(self) : dict_items(runtime, self.dict(), name);
}

Result<Value> call_sequence_method(Runtime& runtime, const Value& self, std::string_view name,
                                   const Arguments& arguments) {
  if (name == "copy") return self;
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"value"}, 1));
  int64_t count = 0;
  const std::vector<Value>& items = self.sequence().items;
  for (size_t i = 0; i < items.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(const bool equal, is_equal(runtime, items[i], *bound[0]));
    if (equal && name == "index") return Value(static_cast<int64_t>(i));
    count += equal ? 1 : 0;
  }
  if (name == "index") return wrong_use("the value is not in the " + type_name(self));
  return Value(count);
}

Result<Value> call_cycler_method(Callable& cycler, std::string_view name, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind(name, arguments, {}).status());
  if (name == "reset") {
    cycler.position = 0;
    return Value();
  }
  return cycler.items[cycler.position++ % cycler.items.size()];
}

}  // namespace

MethodAccess method_access(const Value& self, std::string_view name) {
  switch (self.kind()) {
    case Kind::kString:
      return is_among(kTextMethods, name) ? MethodAccess::kAllowed : MethodAccess::kNone;
    case Kind::kDict:
      return dict_access(name);
    case Kind::kSequence:
      return sequence_access(self.sequence().kind, name);
    case Kind::kFloat:
      return name == "is_integer" ? MethodAccess::kAllowed : MethodAccess::kNone;
    case Kind::kCallable: {
      const bool is_cycler = self.callable().kind == Callable::Kind::kCycler;
      return is_cycler && (name == "next" || name == "reset") ? MethodAccess::kAllowed : MethodAccess::kNone;
    }
    default:
      return MethodAccess::kNone;
  }
}

Result<Value> call_method(Runtime& runtime, const Value& self, std::string_view name, const Arguments& arguments) {
  switch (self.kind()) {
    case Kind::kString:
      return call_text_method(runtime, self.text(), name, arguments);
    case Kind::kDict:
      return call_dict_method(runtime, self, name, arguments);
    case Kind::kSequence:
      return call_sequence_method(runtime, self, name, arguments);
    case Kind::kLoop:
      return call_loop_method(runtime, self.loop(), name, arguments);
    case Kind::kCallable:
      return call_cycler_method(self.callable(), name, arguments);
    case Kind::kFloat:
      return Value(std::isfinite(self.as_float()) && std::floor(self.as_float()) == self.as_float());
    default:
      return wrong_use("'" + type_name(self) + "' object has no method " + std::string(name));
  }
}

}  // namespace sluice::jinja
