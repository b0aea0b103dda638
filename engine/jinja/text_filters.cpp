// Filters that give text.

#include <array>
#include <string>

#include "engine/jinja/filters.h"
#include "engine/jinja/format.h"
#include "engine/jinja/format_field.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/text_tools.h"

namespace sluice::jinja {
namespace {

/// What Jinja calls soft_str: a string as it is, anything else as str() gives it.
Result<Text> soft_text(Runtime& runtime, const Value& value) {
  SLUICE_ASSIGN_OR_RETURN(Text text, to_text(runtime.budget(), value));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(text.size()));
  return text;
}

/// For the few filters that take nothing but strings.
Result<Text> string_input(Runtime& runtime, const Value& value, std::string_view filter) {
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  if (!value.is(Kind::kString)) return wrong_use(std::string(filter) + " needs a string, not " + type_name(value));
  return soft_text(runtime, value);
}

Result<Value> upper_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("upper", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  return runtime.text(in_case(text, LetterCase::kUpper));
}

Result<Value> lower_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("lower", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  return runtime.text(in_case(text, LetterCase::kLower));
}

Result<Value> capitalize_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("capitalize", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  return runtime.text(capitalize(text));
}

/// Unlike str.title, a word begins after a blank, "-" or an opening bracket alone.
Result<Value> title_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("title", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  Text out;
  bool is_inside = false;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    out.append(in_case(character.code, is_inside ? LetterCase::kLower : LetterCase::kUpper), text.origin_at(i));
    const bool is_bracket = character.code < 0x80 &&
                            std::string_view("-({[<").find(static_cast<char>(character.code)) != std::string_view::npos;
    is_inside = !is_bracket && !is_space(character.code);
    i += character.size;
  }
  return runtime.text(std::move(out));
}

Result<Value> trim_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("trim", arguments, {"chars"}));
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  std::optional<Text> characters;
  if (bound[0] && !bound[0]->is(Kind::kNone)) {
    if (!bound[0]->is(Kind::kString)) return wrong_use("trim needs a string of characters");
    characters = bound[0]->text();
    SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(text.size(), 16 * characters->size()));
  }
  return runtime.text(strip(text, Side::kBoth, characters));
}

Result<Value> replace_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("replace", arguments, {"old", "new", "count"}, 2));
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  SLUICE_ASSIGN_OR_RETURN(const Text from, soft_text(runtime, *bound[0]));
  SLUICE_ASSIGN_OR_RETURN(const Text to, soft_text(runtime, *bound[1]));
  const bool has_count = bound[2] && !bound[2]->is(Kind::kNone);
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, int_argument(has_count ? bound[2] : std::nullopt, "count", -1));
  SLUICE_ASSIGN_OR_RETURN(Text out, replace(runtime, text, from, to, count));
  return Value(std::move(out));
}

/// Four blanks, or as many as an int says, or the string itself.
Result<Text> indentation_of(Runtime& runtime, const std::optional<Value>& width) {
  if (width && width->is(Kind::kString)) return width->text();
  SLUICE_ASSIGN_OR_RETURN(const int64_t count, int_argument(width, "width", 4));
  return repeat(runtime, Text(" ", Origin::kInput), count);
}

Result<Value> indent_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("indent", arguments, {"width", "first", "blank"}));
  SLUICE_ASSIGN_OR_RETURN(Text text, string_input(runtime, input, "indent"));
  SLUICE_ASSIGN_OR_RETURN(const Text indentation, indentation_of(runtime, bound[0]));
  const bool indents_blank = flag_argument(bound[2], false);
  // With a newline more, the last one of the text makes a line of its own.
  text.append("\n", Origin::kInput);
  const std::vector<Text> lines = split_lines(text, /*keeps_ends=*/false);
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(lines.size(), indentation.size() + 1));
  Text out;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) out.append("\n", Origin::kInput);
    const bool is_indented = i == 0 ? flag_argument(bound[1], false) : indents_blank || !lines[i].empty();
    if (is_indented) out.append(indentation);
    out.append(lines[i]);
  }
  return runtime.text(std::move(out));
}

Result<Value> string_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("string", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(Text text, soft_text(runtime, input));
  return runtime.text(std::move(text));
}

Result<Value> safe_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("safe", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(Text text, soft_text(runtime, input));
  text.set_markup(true);
  return runtime.text(std::move(text));
}

Result<Value> escape_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(bind("escape", arguments, {}).status());
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  return runtime.text(escape_html(text));
}

Result<Value> center_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("center", arguments, {"width"}));
  SLUICE_ASSIGN_OR_RETURN(const int64_t width, int_argument(bound[0], "width", 80));
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  const auto length = static_cast<int64_t>(character_count(text.bytes()));
  if (width <= length) return Value(text);
  const int64_t missing = width - length;
  const int64_t before = missing / 2 + (missing & width & 1);
  const Text blank(" ", Origin::kInput);
  SLUICE_ASSIGN_OR_RETURN(const Text front, pad(runtime, text, blank, '>', length + before));
  SLUICE_ASSIGN_OR_RETURN(Text out, pad(runtime, front, blank, '<', width));
  return Value(std::move(out));
}

Result<Value> truncate_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("truncate", arguments, {"length", "killwords", "end", "leeway"}));
  if (input.is(Kind::kUndefined)) return input;
  SLUICE_ASSIGN_OR_RETURN(const Text text, string_input(runtime, input, "truncate"));
  SLUICE_ASSIGN_OR_RETURN(const int64_t length, int_argument(bound[0], "length", 255));
  SLUICE_ASSIGN_OR_RETURN(const Text end, text_argument(runtime, bound[2], Text("...", Origin::kInput)));
  SLUICE_ASSIGN_OR_RETURN(const int64_t leeway, int_argument(bound[3], "leeway", 5));
  const auto kept = length - static_cast<int64_t>(character_count(end.bytes()));
  if (kept < 0 || leeway < 0) return wrong_use("truncate: length and leeway are too small for the end");
  if (static_cast<int64_t>(character_count(text.bytes())) - leeway <= length) return Value(text);
  Text out = text.slice(0, byte_of_character(text.bytes(), static_cast<size_t>(kept)));
  const size_t blank = out.bytes().rfind(' ');
  if (!flag_argument(bound[1], false) && blank != std::string::npos) out.truncate(blank);
  out.append(end);
  return runtime.text(std::move(out));
}

Result<Value> format_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Text text, soft_text(runtime, input));
  if (arguments.named.empty()) {
    return format_percent(runtime, text, make_sequence(SequenceKind::kTuple, arguments.positional));
  }
  if (!arguments.positional.empty()) return wrong_use("can't handle positional and keyword arguments at the same time");
  Dict values;
  for (const auto& [name, value] : arguments.named) values.set(Value(name, Origin::kTemplate), value);
  return format_percent(runtime, text, make_dict(std::move(values)));
}

/// (',', ':') or the like; what json.dumps takes without.
Result<JsonStyle> json_style(Runtime& runtime, const Bound& bound) {
  JsonStyle style;
  style.is_ascii = flag_argument(bound[0], false);
  style.sorts_keys = flag_argument(bound[3], false);
  if (bound[1] && !bound[1]->is(Kind::kNone)) {
    SLUICE_ASSIGN_OR_RETURN(const Text indent, indentation_of(runtime, bound[1]));
    style.indent = indent.bytes();
  }
  style.item_separator = Text(style.indent ? "," : ", ", Origin::kInput);
  style.key_separator = Text(": ", Origin::kInput);
  if (!bound[2] || bound[2]->is(Kind::kNone)) return style;
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> separators, items_of(runtime, *bound[2]));
  if (separators.size() != 2 || !separators[0].is(Kind::kString) || !separators[1].is(Kind::kString)) {
    return wrong_use("tojson: separators must be two strings");
  }
  style.item_separator = separators[0].text();
  style.key_separator = separators[1].text();
  return style;
}

/// As transformers has it, not as Jinja does: nothing is escaped for HTML.
Result<Value> tojson_filter(Runtime& runtime, const Value& input, const Arguments& arguments) {
  SLUICE_ASSIGN_OR_RETURN(const Bound bound,
                          bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"}));
  SLUICE_ASSIGN_OR_RETURN(const JsonStyle style, json_style(runtime, bound));
  SLUICE_ASSIGN_OR_RETURN(Text text, to_json(runtime.budget(), input, style));
  return runtime.text(std::move(text));
}

constexpr std::array<FilterEntry, 16> kFilters = {{{"capitalize", capitalize_filter},
                                                   {"center", center_filter},
                                                   {"e", escape_filter},
                                                   {"escape", escape_filter},
                                                   {"format", format_filter},
                                                   {"indent", indent_filter},
                                                   {"lower", lower_filter},
                                                   {"replace", replace_filter},
                                                   {"safe", safe_filter},
                                                   {"string", string_filter},
                                                   {"title", title_filter},
                                                   {"tojson", tojson_filter},
                                                   {"trim", trim_filter},
                                                   {"truncate", truncate_filter},
                                                   {"upper", upper_filter},
                                                   {"forceescape", escape_filter}}};

}  // namespace

std::span<const FilterEntry> text_filters() {
  return kFilters;
}

}  // namespace sluice::jinja
