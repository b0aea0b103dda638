#include <optional>
#include <string>
#include <utility>

#include "engine/jinja/format.h"
#include "engine/jinja/format_field.h"
#include "engine/jinja/number_text.h"
#include "engine/jinja/print.h"
#include "engine/jinja/subscripts.h"

namespace sluice::jinja {
namespace {

class BraceFormatter {
 public:
  BraceFormatter(Runtime& runtime, const Arguments& arguments) : runtime_(runtime), arguments_(arguments) {}

  /// `depth`: how many replacement fields this text is in; a field's specification may hold fields, those' may not.
  Result<Text> run(const Text& format, int depth);

 private:
  Result<size_t> end_of_field(const std::string& format, size_t begin) const;
  Result<Text> replaced(const Text& field, int depth);
  Result<Value> value_of(std::string_view name);
  Result<Value> argument(std::string_view name);

  Runtime& runtime_;
  const Arguments& arguments_;
  int64_t next_ = 0;
};

Result<Text> BraceFormatter::run(const Text& format, int depth) {
  Text out;
  const std::string& bytes = format.bytes();
  for (size_t i = 0; i < bytes.size();) {
    const size_t brace = std::min(bytes.find_first_of("{}", i), bytes.size());
    out.append(format, i, brace - i);
    if (brace == bytes.size()) break;
    if (brace + 1 < bytes.size() && bytes[brace + 1] == bytes[brace]) {
      out.append(format, brace, 1);
      i = brace + 2;
      continue;
    }
    if (bytes[brace] == '}') return wrong_use("Single '}' encountered in format string");
    SLUICE_ASSIGN_OR_RETURN(const size_t end, end_of_field(bytes, brace + 1));
    SLUICE_ASSIGN_OR_RETURN(const Text text, replaced(format.slice(brace + 1, end - brace - 1), depth));
    out.append(text);
    SLUICE_RETURN_IF_ERROR(runtime_.budget().take_value(out.size()));
    i = end + 1;
  }
  return out;
}

Result<size_t> BraceFormatter::end_of_field(const std::string& format, size_t begin) const {
  int open = 1;
  for (size_t i = begin; i < format.size(); ++i) {
    open += format[i] == '{' ? 1 : format[i] == '}' ? -1 : 0;
    if (open == 0) return i;
  }
  return wrong_use("expected '}' before end of string");
}

Result<Value> BraceFormatter::argument(std::string_view name) {
  std::optional<int64_t> index = parse_int(name, 10);
  if (name.empty()) index = next_++;
  if (index) {
    const bool is_given = *index >= 0 && static_cast<size_t>(*index) < arguments_.positional.size();
    if (!is_given) return wrong_use("Replacement index " + std::to_string(*index) + " out of range");
    return arguments_.positional[static_cast<size_t>(*index)];
  }
  const Value* const value = arguments_.find(name);
  if (value == nullptr) return wrong_use("KeyError: '" + std::string(name) + "'");
  return *value;
}

Result<Value> BraceFormatter::value_of(std::string_view name) {
  const size_t first_end = std::min(name.find_first_of(".["), name.size());
  SLUICE_ASSIGN_OR_RETURN(Value value, argument(name.substr(0, first_end)));
  name.remove_prefix(first_end);
  while (!name.empty()) {
    if (name.front() == '.') {
      const size_t end = std::min(name.find_first_of(".[", 1), name.size());
      SLUICE_ASSIGN_OR_RETURN(value, get_attribute(runtime_, value, name.substr(1, end - 1)));
      name.remove_prefix(end);
    } else {
      const size_t end = name.find(']');
      if (name.front() != '[' || end == std::string_view::npos) return wrong_use("Missing ']' in format string");
      const std::string_view key = name.substr(1, end - 1);
      const std::optional<int64_t> index = parse_int(key, 10);
      SLUICE_ASSIGN_OR_RETURN(value, get_item(runtime_, value, index ? Value(*index) : Value(key, Origin::kTemplate)));
      name.remove_prefix(end + 1);
    }
  }
  return value;
}

Result<Text> BraceFormatter::replaced(const Text& field, int depth) {
  if (depth >= 2) return wrong_use("Max string recursion exceeded");
  const std::string& bytes = field.bytes();
  const size_t colon = std::min(bytes.find(':'), bytes.size());
  const size_t mark = std::min(bytes.find('!'), colon);
  SLUICE_ASSIGN_OR_RETURN(Value value, value_of(std::string_view(bytes).substr(0, mark)));
  if (mark < colon) {
    const std::string conversion = bytes.substr(mark + 1, colon - mark - 1);
    if (conversion != "r" && conversion != "s" && conversion != "a") return wrong_use("Unknown conversion specifier");
    SLUICE_ASSIGN_OR_RETURN(Text text,
                            conversion == "s" ? to_text(runtime_.budget(), value) : to_repr(runtime_.budget(), value));
    value = Value(std::move(text));
  }
  Text specification;
  if (colon < bytes.size()) {
    SLUICE_ASSIGN_OR_RETURN(specification, run(field.slice(colon + 1, bytes.size() - colon - 1), depth + 1));
  }
  if (specification.empty()) return to_text(runtime_.budget(), value);
  SLUICE_ASSIGN_OR_RETURN(const FieldStyle style, parse_field_style(specification));
  if (value.is_number()) return format_number(runtime_, value, style);
  if (!value.is(Kind::kString) && !value.is(Kind::kUndefined)) {
    return wrong_use("unsupported format string passed to " + type_name(value) + ".__format__");
  }
  SLUICE_ASSIGN_OR_RETURN(const Text text, to_text(runtime_.budget(), value));
  return format_text(runtime_, text, style);
}

}  // namespace

Result<Value> format_braces(Runtime& runtime, const Text& format, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_work(format.size()));
  SLUICE_ASSIGN_OR_RETURN(Text text, BraceFormatter(runtime, arguments).run(format, 0));
  return runtime.text(std::move(text));
}

}  // namespace sluice::jinja
