#include "engine/jinja/functions.h"

#include <array>
#include <ctime>
#include <string>
#include <utility>

#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"

namespace sluice::jinja {
namespace {

using Function = Result<Value> (*)(Runtime& runtime, const Arguments& arguments);

Result<Value> range_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("range", arguments, {"start", "stop", "step"}, 1));
  SLUICE_ASSIGN_OR_RETURN(int64_t begin, int_argument(bound[0], "start", 0));
  SLUICE_ASSIGN_OR_RETURN(int64_t end, int_argument(bound[1], "stop", 0));
  SLUICE_ASSIGN_OR_RETURN(const int64_t step, int_argument(bound[2], "step", 1));
  if (step == 0) return wrong_use("range() arg 3 must not be zero");
  if (!bound[1]) end = std::exchange(begin, 0);
  const size_t count_max = runtime.budget().limits().range_max;
  std::vector<Value> items;
  for (int64_t value = begin; step > 0 ? value < end : value > end;) {
    if (items.size() >= count_max) {
      return resource_exhausted("Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                                std::to_string(count_max) + ").");
    }
    items.emplace_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return runtime.sequence(SequenceKind::kRange, std::move(items));
}

/// What dict() makes of its arguments: the entries of a dict or of pairs, and the named ones.
Result<Dict> dict_of(Runtime& runtime, const Arguments& arguments) {
  Dict dict;
  if (arguments.positional.size() > 1) return wrong_use("dict expected at most 1 argument");
  if (!arguments.positional.empty() && arguments.positional[0].is(Kind::kDict)) {
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(2 * arguments.positional[0].dict().size())));
    dict = arguments.positional[0].dict();
  } else if (!arguments.positional.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> pairs, items_of(runtime, arguments.positional[0]));
    for (const Value& pair : pairs) {
      SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> parts, items_of(runtime, pair));
      if (parts.size() != 2) return wrong_use("dict() needs pairs");
      SLUICE_RETURN_IF_ERROR(take_key(runtime, parts[0]));
      if (!Dict::is_key(parts[0]))
        return wrong_use("a dict here takes no keys of the type '" + type_name(parts[0]) + "'");
      dict.set(parts[0], parts[1]);
    }
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value(name, Origin::kTemplate), value);
  return dict;
}

Result<Value> dict_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(Dict dict, dict_of(runtime, arguments));
  return runtime.dict(std::move(dict));
}

Result<Value> namespace_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(Dict dict, dict_of(runtime, arguments));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(2 * dict.size() + 4)));
  Namespace& space = runtime.add_namespace();
  space.attributes = std::move(dict);
  return Value(space);
}

Result<Value> cycler_function(Runtime& runtime, const Arguments& arguments) {
  if (arguments.positional.empty()) return wrong_use("at least one item has to be provided");
  Callable cycler;
  cycler.kind = Callable::Kind::kCycler;
  cycler.name = "cycler";
  cycler.items = arguments.positional;
  return runtime.callable(std::move(cycler));
}

Result<Value> joiner_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("joiner", arguments, {"sep"}));
  Callable joiner;
  joiner.kind = Callable::Kind::kJoiner;
  joiner.name = "joiner";
  SLUICE_ASSIGN_OR_RETURN(joiner.separator, text_argument(runtime, bound[0], Text(", ", Origin::kInput)));
  return runtime.callable(std::move(joiner));
}

Result<Value> raise_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("raise_exception", arguments, {"message"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const Text message, to_text(runtime.budget(), *bound[0]));
  return invalid_argument(message.bytes());
}

/// strftime has no name for microseconds, Python's has.
std::string with_microseconds(std::string_view format, int64_t microseconds) {
  std::string digits = std::to_string(microseconds);
  digits.insert(0, 6 - digits.size(), '0');
  std::string out;
  for (size_t i = 0; i < format.size(); ++i) {
    const bool is_directive = format[i] == '%' && i + 1 < format.size();
    if (is_directive && format[i + 1] == 'f') {
      out += digits;
    } else {
      out += format[i];
      if (is_directive) out += format[i + 1];
    }
    if (is_directive) ++i;
  }
  return out;
}

Result<Value> strftime_function(Runtime& runtime, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("strftime_now", arguments, {"format"}, 1));
  if (!bound[0]->is(Kind::kString)) return wrong_use("strftime_now() needs a string");
  const Text& text = bound[0]->text();
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(text.size() + 8, 32));
  const auto since_epoch = std::chrono::duration_cast<std::chrono::microseconds>(runtime.now().time_since_epoch());
  const int64_t microseconds = ((since_epoch.count() % 1'000'000) + 1'000'000) % 1'000'000;
  const std::time_t seconds = std::chrono::system_clock::to_time_t(
      std::chrono::system_clock::time_point(since_epoch - std::chrono::microseconds(microseconds)));
  std::tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return wrong_use("the time is out of range");
  // A last blank tells an empty result from one that doesn't fit.
  const std::string format = with_microseconds(text.bytes(), microseconds) + " ";
  std::string buffer((text.size() + 8) * 32, '\0');
  const size_t size = std::strftime(buffer.data(), buffer.size(), format.c_str(), &local);
  if (size == 0) return wrong_use("strftime_now(): the format gives too much text");
  return Value(std::string_view(buffer).substr(0, size - 1), text.origin());
}

constexpr std::array<std::pair<std::string_view, Function>, 7> kFunctions = {{{"range", range_function},
                                                                              {"dict", dict_function},
                                                                              {"namespace", namespace_function},
                                                                              {"cycler", cycler_function},
                                                                              {"joiner", joiner_function},
                                                                              {"raise_exception", raise_function},
                                                                              {"strftime_now", strftime_function}}};

Function find_function(std::string_view name) {
  for (const auto& [candidate, function] : kFunctions) {
    if (candidate == name) return function;
  }
  return nullptr;
}

}  // namespace

bool is_function(std::string_view name) {
  return find_function(name) != nullptr;
}

Result<Value> call_function(Runtime& runtime, std::string_view name, const Arguments& arguments) {
  const Function function = find_function(name);
  if (function == nullptr) return wrong_use("there is no function \"" + std::string(name) + "\"");
  return function(runtime, arguments);
}

}  // namespace sluice::jinja
