#include "engine/jinja/print.h"

#include <array>
#include <cstdio>
#include <string_view>

#include "engine/jinja/number_text.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

std::string hex_escape(char32_t code) {
  std::array<char, 16> buffer{};
  const char* const format = code < 0x100 ? "\\x%02x" : code < 0x10000 ? "\\u%04x" : "\\U%08x";
  const int size = std::snprintf(buffer.data(), buffer.size(), format, static_cast<unsigned>(code));
  return {buffer.data(), static_cast<size_t>(size)};
}

/// How repr shows a character between such quotes; empty where it shows the character itself.
std::string repr_escape(char32_t code, char quote) {
  if (code == static_cast<char32_t>(quote) || code == U'\\') return {'\\', static_cast<char>(code)};
  if (code == U'\n') return "\\n";
  if (code == U'\r') return "\\r";
  if (code == U'\t') return "\\t";
  return is_printable(code) ? "" : hex_escape(code);
}

void append_repr(Text& out, const Text& text) {
  const bool has_single = text.bytes().find('\'') != std::string::npos;
  const bool has_double = text.bytes().find('"') != std::string::npos;
  const char quote = has_single && !has_double ? '"' : '\'';
  out.append(std::string_view(&quote, 1), Origin::kInput);
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    const std::string escape = repr_escape(character.code, quote);
    if (escape.empty()) {
      out.append(text, i, character.size);
    } else {
      out.append(escape, text.origin_at(i));
    }
    i += character.size;
  }
  out.append(std::string_view(&quote, 1), Origin::kInput);
}

class Printer {
 public:
  explicit Printer(Budget& budget) : budget_(budget) {}

  Status append(const Value& value);
  Text take() && { return std::move(out_); }

 private:
  void put(std::string_view bytes) { out_.append(bytes, Origin::kInput); }
  Status append_nested(const Value& value);
  Status append_items(const std::vector<Value>& items);
  Status append_sequence(const Sequence& sequence);
  Status append_dict(const Dict& dict);
  Status append_namespace(const Namespace& space);
  Status append_callable(const Callable& callable);

  Budget& budget_;
  Text out_;
};

Status Printer::append_items(const std::vector<Value>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) put(", ");
    SLUICE_RETURN_IF_ERROR(append(items[i]));
  }
  return {};
}

Status Printer::append_sequence(const Sequence& sequence) {
  switch (sequence.kind) {
    case SequenceKind::kList:
      put("[");
      SLUICE_RETURN_IF_ERROR(append_items(sequence.items));
      put("]");
      return {};
    case SequenceKind::kTuple:
      put("(");
      SLUICE_RETURN_IF_ERROR(append_items(sequence.items));
      put(sequence.items.size() == 1 ? ",)" : ")");
      return {};
    case SequenceKind::kRange:
      put("range(" + std::to_string(sequence.items.empty() ? 0 : sequence.items.front().as_int()) + ", " +
          std::to_string(sequence.items.empty() ? 0 : sequence.items.back().as_int() + 1) + ")");
      return {};
    case SequenceKind::kKeys:
    case SequenceKind::kValues:
    case SequenceKind::kItems:
      put(sequence.kind == SequenceKind::kKeys     ? "dict_keys(["
          : sequence.kind == SequenceKind::kValues ? "dict_values(["
                                                   : "dict_items([");
      SLUICE_RETURN_IF_ERROR(append_items(sequence.items));
      put("])");
      return {};
    case SequenceKind::kGenerator:
      put("<generator object>");
      return {};
  }
  return {};
}

Status Printer::append_dict(const Dict& dict) {
  put("{");
  bool is_first = true;
  for (const auto& [key, value] : dict.entries()) {
    if (!is_first) put(", ");
    is_first = false;
    SLUICE_RETURN_IF_ERROR(append(key));
    put(": ");
    SLUICE_RETURN_IF_ERROR(append(value));
  }
  put("}");
  return {};
}

Status Printer::append_namespace(const Namespace& space) {
  put("<Namespace ");
  SLUICE_RETURN_IF_ERROR(append_dict(space.attributes));
  put(">");
  return {};
}

Status Printer::append_callable(const Callable& callable) {
  switch (callable.kind) {
    case Callable::Kind::kMacro:
      put("<Macro '" + callable.name + "'>");
      return {};
    case Callable::Kind::kMethod:
      put("<built-in method " + callable.name + " of " + type_name(callable.self) + " object>");
      return {};
    default:
      put("<" + callable.name + ">");
      return {};
  }
}

Status Printer::append_nested(const Value& value) {
  switch (value.kind()) {
    case Kind::kUndefined:
      put("Undefined");
      return {};
    case Kind::kNone:
      put("None");
      return {};
    case Kind::kBool:
      put(value.as_bool() ? "True" : "False");
      return {};
    case Kind::kInt:
      put(std::to_string(value.as_int()));
      return {};
    case Kind::kFloat:
      put(float_text(value.as_float()));
      return {};
    case Kind::kString:
      SLUICE_RETURN_IF_ERROR(budget_.take_work(value.bytes().size()));
      if (value.text().is_markup()) put("Markup(");
      append_repr(out_, value.text());
      if (value.text().is_markup()) put(")");
      return {};
    case Kind::kSequence:
      return append_sequence(value.sequence());
    case Kind::kDict:
      return append_dict(value.dict());
    case Kind::kNamespace:
      return append_namespace(value.space());
    case Kind::kLoop:
      put("<LoopContext " + std::to_string(value.loop().index0 + 1) + "/" + std::to_string(value.loop().items.size()) +
          ">");
      return {};
    case Kind::kCallable:
      return append_callable(value.callable());
  }
  return {};
}

Status Printer::append(const Value& value) {
  SLUICE_RETURN_IF_ERROR(budget_.take_steps());
  SLUICE_RETURN_IF_ERROR(budget_.enter());
  SLUICE_RETURN_IF_ERROR(append_nested(value));
  budget_.leave();
  return out_.size() > budget_.limits().value_bytes_max ? budget_.take_value(out_.size()) : Status();
}

}  // namespace

Result<Text> to_text(Budget& budget, const Value& value) {
  if (value.is(Kind::kString)) return value.text();
  if (value.is(Kind::kUndefined)) return Text();
  return to_repr(budget, value);
}

Result<Text> to_repr(Budget& budget, const Value& value) {
  Printer printer(budget);
  SLUICE_RETURN_IF_ERROR(printer.append(value));
  return std::move(printer).take();
}

}  // namespace sluice::jinja
