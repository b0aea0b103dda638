// The methods of Python's str.

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "engine/jinja/format.h"
#include "engine/jinja/format_field.h"
#include "engine/jinja/methods.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/text_tools.h"

namespace sluice::jinja {
namespace {

using Method = Result<Value> (*)(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments);

/// A parameter that must be a string.
Result<Text> string_of(const Value& value, std::string_view method) {
  if (value.is(Kind::kString)) return value.text();
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  return wrong_use(std::string(method) + "() needs a string, not " + type_name(value));
}

/// A parameter that may be absent or none.
Result<std::optional<Text>> optional_string(const std::optional<Value>& value, std::string_view method) {
  if (!value || value->is(Kind::kNone)) return std::optional<Text>();
  SLUICE_ASSIGN_OR_RETURN(Text text, string_of(*value, method));
  return std::optional<Text>(std::move(text));
}

Result<Value> strip_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"chars"}));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<Text> characters, optional_string(bound[0], name));
  if (characters) SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(self.size(), 16 * characters->size()));
  const Side side = name == "lstrip" ? Side::kLeft : name == "rstrip" ? Side::kRight : Side::kBoth;
  return runtime.text(strip(self, side, characters));
}

Result<Value> split_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"sep", "maxsplit"}));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<Text> separator, optional_string(bound[0], name));
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, int_argument(bound[1], "maxsplit", -1));
  SLUICE_ASSIGN_OR_RETURN(std::vector<Value> parts, split(runtime, self, separator, count, name == "rsplit"));
  return runtime.list(std::move(parts));
}

Result<Value> splitlines_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"keepends"}));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(self.size()));
  std::vector<Value> lines;
  for (Text& line : split_lines(self, flag_argument(bound[0], false))) lines.emplace_back(std::move(line));
  return runtime.list(std::move(lines));
}

Result<Value> partition_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"sep"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const Text separator, string_of(*bound[0], name));
  if (separator.empty()) return wrong_use("empty separator");
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(self.size(), separator.size()));
  const bool is_right = name == "rpartition";
  const size_t at = is_right ? self.bytes().rfind(separator.bytes()) : self.bytes().find(separator.bytes());
  if (at == std::string::npos) {
    const Value whole(self);
    const Value nothing{Text()};
    if (is_right) return runtime.sequence(SequenceKind::kTuple, {nothing, nothing, whole});
    return runtime.sequence(SequenceKind::kTuple, {whole, nothing, nothing});
  }
  const size_t end = at + separator.size();
  return runtime.sequence(SequenceKind::kTuple, {Value(self.slice(0, at)), Value(self.slice(at, separator.size())),
                                                 Value(self.slice(end, self.size() - end))});
}

Result<Value> replace_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"old", "new", "count"}, 2));
  SLUICE_ASSIGN_OR_RETURN(const Text from, string_of(*bound[0], name));
  SLUICE_ASSIGN_OR_RETURN(const Text to, string_of(*bound[1], name));
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, int_argument(bound[2], "count", -1));
  SLUICE_ASSIGN_OR_RETURN(Text text, replace(runtime, self, from, to, count));
  return runtime.text(std::move(text));
}

Result<Value> join_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"iterable"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime, *bound[0]));
  std::vector<Text> parts;
  for (const Value& item : items) {
    SLUICE_ASSIGN_OR_RETURN(Text part, string_of(item, name));
    parts.push_back(std::move(part));
  }
  SLUICE_ASSIGN_OR_RETURN(Text text, join(runtime, self, parts));
  return Value(std::move(text));
}

/// The part of `self` that start and end leave, and at which character it begins.
struct Window {
  Text text;
  int64_t begin = 0;
  bool is_outside = false;  ///< it begins after the end: not even "" is found there
};

Result<Window> window_of(const Text& self, const Bound& bound) {
  const auto length = static_cast<int64_t>(character_count(self.bytes()));
  const auto bound_at = [&](size_t i, std::string_view name, int64_t fallback) -> Result<int64_t> {
    if (bound[i] && bound[i]->is(Kind::kNone)) return fallback;
    return int_argument(bound[i], name, fallback);
  };
  SLUICE_ASSIGN_OR_RETURN(int64_t begin, bound_at(1, "start", 0));
  SLUICE_ASSIGN_OR_RETURN(int64_t end, bound_at(2, "end", length));
  if (begin < 0) begin = std::max<int64_t>(begin + length, 0);
  end = std::min(end < 0 ? std::max<int64_t>(end + length, 0) : end, length);
  if (begin > end) return Window{.text = Text(), .begin = 0, .is_outside = true};
  const size_t from = byte_of_character(self.bytes(), static_cast<size_t>(begin));
  const size_t to = byte_of_character(self.bytes(), static_cast<size_t>(end));
  return Window{.text = self.slice(from, to - from), .begin = begin, .is_outside = false};
}

Result<Value> find_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"sub", "start", "end"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const Text wanted, string_of(*bound[0], name));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(self.size(), wanted.size()));
  SLUICE_ASSIGN_OR_RETURN(const Window window, window_of(self, bound));
  const bool is_right = name.starts_with('r');
  const std::string& bytes = window.text.bytes();
  const size_t at = window.is_outside ? std::string::npos
                    : is_right        ? bytes.rfind(wanted.bytes())
                                      : bytes.find(wanted.bytes());
  if (at != std::string::npos) {
    return Value(window.begin + static_cast<int64_t>(character_count(std::string_view(bytes).substr(0, at))));
  }
  if (name.ends_with("index")) return wrong_use("substring not found");
  return Value(int64_t{-1});
}

Result<Value> count_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"sub", "start", "end"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const Text wanted, string_of(*bound[0], name));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(self.size(), wanted.size()));
  SLUICE_ASSIGN_OR_RETURN(const Window window, window_of(self, bound));
  if (window.is_outside) return Value(int64_t{0});
  const std::string& bytes = window.text.bytes();
  if (wanted.empty()) return Value(static_cast<int64_t>(character_count(bytes)) + 1);
  int64_t count = 0;
  for (size_t at = bytes.find(wanted.bytes()); at != std::string::npos; ++count) {
    at = bytes.find(wanted.bytes(), at + wanted.size());
  }
  return Value(count);
}

Result<Value> affix_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"affix", "start", "end"}, 1));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(self.size()));
  SLUICE_ASSIGN_OR_RETURN(const Window window, window_of(self, bound));
  const bool is_tuple = bound[0]->is(Kind::kSequence) && bound[0]->sequence().kind == SequenceKind::kTuple;
  const std::vector<Value> candidates = is_tuple ? bound[0]->sequence().items : std::vector<Value>{*bound[0]};
  for (const Value& candidate : candidates) {
    SLUICE_ASSIGN_OR_RETURN(const Text affix, string_of(candidate, name));
    const std::string& bytes = window.text.bytes();
    const bool fits = name == "startswith" ? bytes.starts_with(affix.bytes()) : bytes.ends_with(affix.bytes());
    if (fits && !window.is_outside) return Value(true);
  }
  return Value(false);
}

Result<Value> remove_affix_method(Runtime& runtime, const Text& self, std::string_view name,
                                  const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"affix"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const Text affix, string_of(*bound[0], name));
  const size_t rest = self.size() - std::min(self.size(), affix.size());
  if (name == "removeprefix" && self.bytes().starts_with(affix.bytes())) {
    return runtime.text(self.slice(affix.size(), rest));
  }
  if (name == "removesuffix" && self.bytes().ends_with(affix.bytes())) return runtime.text(self.slice(0, rest));
  return Value(self);
}

Result<Value> pad_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"width", "fillchar"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const int64_t width, int_argument(bound[0], "width", 0));
  SLUICE_ASSIGN_OR_RETURN(const Text fill, text_argument(runtime, bound[1], Text(" ", Origin::kInput)));
  if (character_count(fill.bytes()) != 1) return wrong_use("The fill character must be exactly one character long");
  const auto length = static_cast<int64_t>(character_count(self.bytes()));
  if (name != "center" || width <= length) {
    SLUICE_ASSIGN_OR_RETURN(Text text, pad(runtime, self, fill, name == "rjust" ? '>' : '<', width));
    return Value(std::move(text));
  }
  // A character that is left over goes before the text where width and the padding are odd.
  const int64_t missing = width - length;
  const int64_t before = missing / 2 + (missing & width & 1);
  SLUICE_ASSIGN_OR_RETURN(const Text front, pad(runtime, self, fill, '>', length + before));
  SLUICE_ASSIGN_OR_RETURN(Text text, pad(runtime, front, fill, '<', width));
  return Value(std::move(text));
}

Result<Value> zfill_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind(name, arguments, {"width"}, 1));
  SLUICE_ASSIGN_OR_RETURN(const int64_t width, int_argument(bound[0], "width", 0));
  const bool has_sign = !self.empty() && (self.bytes()[0] == '-' || self.bytes()[0] == '+');
  Text out = self.slice(0, has_sign ? 1 : 0);
  const Text digits = self.slice(out.size(), self.size() - out.size());
  SLUICE_ASSIGN_OR_RETURN(const Text padded, pad(runtime, digits, Text("0", Origin::kInput), '>',
                                                 width - static_cast<int64_t>(out.size())));
  out.append(padded);
  return Value(std::move(out));
}

Text swapped_case(const Text& text) {
  Text out;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    const LetterCase wanted = is_upper(character.code) ? LetterCase::kLower : LetterCase::kUpper;
    out.append(in_case(character.code, wanted), text.origin_at(i));
    i += character.size;
  }
  return out;
}

Result<Value> case_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind(name, arguments, {}).status());
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(self.size()));
  if (name == "upper") return runtime.text(in_case(self, LetterCase::kUpper));
  if (name == "lower") return runtime.text(in_case(self, LetterCase::kLower));
  if (name == "casefold") return runtime.text(in_case(self, LetterCase::kFold));
  if (name == "title") return runtime.text(title(self));
  if (name == "swapcase") return runtime.text(swapped_case(self));
  return runtime.text(capitalize(self));
}

bool is_alnum(char32_t code) {
  return is_letter(code) || is_numeric(code);
}

bool is_ascii(char32_t code) {
  return code < 0x80;
}

bool is_title(const Text& text) {
  bool has_letter = false;
  bool is_inside = false;
  for (size_t i = 0; i < text.size(); i += character_at(text.bytes(), i).size) {
    const char32_t code = character_at(text.bytes(), i).code;
    if (is_upper(code) ? is_inside : is_lower(code) && !is_inside) return false;
    is_inside = is_upper(code) || is_lower(code);
    has_letter = has_letter || is_inside;
  }
  return has_letter;
}

bool are_all(const Text& text, bool (*test)(char32_t)) {
  for (size_t i = 0; i < text.size(); i += character_at(text.bytes(), i).size) {
    if (!test(character_at(text.bytes(), i).code)) return false;
  }
  return true;
}

bool is_identifier(const Text& text) {
  const auto is_word = [](char32_t code) { return is_alnum(code) || code == U'_'; };
  return !text.empty() && are_all(text, is_word) && !is_numeric(character_at(text.bytes(), 0).code);
}

Result<Value> is_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind(name, arguments, {}).status());
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(4 * self.size()));
  if (name == "islower" || name == "isupper")
    return Value(has_only_case(self, name == "isupper" ? LetterCase::kUpper : LetterCase::kLower));
  if (name == "istitle") return Value(is_title(self));
  if (name == "isidentifier") return Value(is_identifier(self));
  if (name == "isascii") return Value(are_all(self, is_ascii));
  if (name == "isprintable") return Value(are_all(self, is_printable));
  bool (*const test)(char32_t) = name == "isalpha"     ? is_letter
                                 : name == "isdigit"   ? is_digit
                                 : name == "isdecimal" ? is_decimal
                                 : name == "isnumeric" ? is_numeric
                                 : name == "isspace"   ? is_space
                                                       : is_alnum;
  return Value(!self.empty() && are_all(self, test));
}

Result<Value> format_method(Runtime& runtime, const Text& self, std::string_view /*name*/, const Arguments& arguments) {
  return format_braces(runtime, self, arguments);
}

constexpr std::array<std::pair<std::string_view, Method>, 42> kMethods = {{
    {"capitalize", case_method},
    {"casefold", case_method},
    {"center", pad_method},
    {"count", count_method},
    {"endswith", affix_method},
    {"find", find_method},
    {"format", format_method},
    {"index", find_method},
    {"isalnum", is_method},
    {"isalpha", is_method},
    {"isascii", is_method},
    {"isdecimal", is_method},
    {"isdigit", is_method},
    {"isidentifier", is_method},
    {"islower", is_method},
    {"isnumeric", is_method},
    {"isprintable", is_method},
    {"isspace", is_method},
    {"istitle", is_method},
    {"isupper", is_method},
    {"join", join_method},
    {"ljust", pad_method},
    {"lower", case_method},
    {"lstrip", strip_method},
    {"partition", partition_method},
    {"removeprefix", remove_affix_method},
    {"removesuffix", remove_affix_method},
    {"replace", replace_method},
    {"rfind", find_method},
    {"rindex", find_method},
    {"rjust", pad_method},
    {"rpartition", partition_method},
    {"rsplit", split_method},
    {"rstrip", strip_method},
    {"split", split_method},
    {"splitlines", splitlines_method},
    {"startswith", affix_method},
    {"strip", strip_method},
    {"swapcase", case_method},
    {"title", case_method},
    {"upper", case_method},
    {"zfill", zfill_method},
}};

}  // namespace

Result<Value> call_text_method(Runtime& runtime, const Text& self, std::string_view name, const Arguments& arguments) {
  for (const auto& [candidate, method] : kMethods) {
    if (candidate == name) return method(runtime, self, name, arguments);
  }
  return wrong_use("str." + std::string(name) + "() is not supported");
}

}  // namespace sluice::jinja
