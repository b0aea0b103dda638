#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "engine/jinja/number_text.h"
#include "engine/jinja/print.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

std::string utf16_escape(unsigned unit) {
  std::array<char, 8> buffer{};
  const int size = std::snprintf(buffer.data(), buffer.size(), "\\u%04x", unit);
  return {buffer.data(), static_cast<size_t>(size)};
}

std::string utf16_escapes(char32_t code) {
  if (code < 0x10000) return utf16_escape(code);
  const char32_t rest = code - 0x10000;
  return utf16_escape(0xD800U + (rest >> 10U)) + utf16_escape(0xDC00U + (rest & 0x3FFU));
}

/// Empty where the character stands for itself.
std::string json_escape(char32_t code, bool is_ascii) {
  switch (code) {
    case U'"':
      return "\\\"";
    case U'\\':
      return "\\\\";
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    case U'\f':
      return "\\f";
    case U'\b':
      return "\\b";
    default:
      return code < 0x20 || (is_ascii && code > 0x7E) ? utf16_escapes(code) : "";
  }
}

void append_string(Text& out, const Text& text, bool is_ascii) {
  out.append("\"", Origin::kInput);
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    const std::string escape = json_escape(character.code, is_ascii);
    if (escape.empty()) {
      out.append(text, i, character.size);
    } else {
      out.append(escape, text.origin_at(i));
    }
    i += character.size;
  }
  out.append("\"", Origin::kInput);
}

std::string json_float(double number) {
  if (std::isnan(number)) return "NaN";
  if (std::isinf(number)) return number < 0 ? "-Infinity" : "Infinity";
  return float_text(number);
}

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  Status append(const Value& value);
  Text take() && { return std::move(out_); }

 private:
  void put(std::string_view bytes) { out_.append(bytes, Origin::kInput); }
  Status begin_item(bool is_first);
  Status new_line();
  Status append_scalar(const Value& value);
  Status append_list(const std::vector<Value>& items);
  Status append_dict(const Dict& dict);
  Status append_key(const Value& key);

  Budget& budget_;
  const JsonStyle& style_;
  Text out_;
  size_t level_ = 0;
};

Status JsonWriter::new_line() {
  if (!style_.indent) return {};
  SLUICE_RETURN_IF_ERROR(budget_.take_values(level_, style_.indent->size()));
  put("\n");
  for (size_t i = 0; i < level_; ++i) put(*style_.indent);
  return {};
}

Status JsonWriter::begin_item(bool is_first) {
  if (!is_first) out_.append(style_.item_separator);
  return new_line();
}

Status JsonWriter::append_list(const std::vector<Value>& items) {
  put("[");
  ++level_;
  for (size_t i = 0; i < items.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(begin_item(i == 0));
    SLUICE_RETURN_IF_ERROR(append(items[i]));
  }
  --level_;
  if (!items.empty()) SLUICE_RETURN_IF_ERROR(new_line());
  put("]");
  return {};
}

Status JsonWriter::append_key(const Value& key) {
  if (key.is(Kind::kString)) {
    append_string(out_, key.text(), style_.is_ascii);
    return {};
  }
  if (key.is(Kind::kSequence)) return failed_precondition("keys must be str, int, float, bool or None, not tuple");
  put("\"");
  SLUICE_RETURN_IF_ERROR(append_scalar(key));
  put("\"");
  return {};
}

/// Nothing where not all keys are strings: only those have an order that JSON text could need.
Result<std::vector<const Dict::Entry*>> sorted_entries(const Dict& dict) {
  std::vector<const Dict::Entry*> entries;
  entries.reserve(dict.size());
  for (const Dict::Entry& entry : dict.entries()) {
    if (!entry.first.is(Kind::kString)) return failed_precondition("tojson can sort only keys that are strings");
    entries.push_back(&entry);
  }
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Dict::Entry* a, const Dict::Entry* b) { return a->first.bytes() < b->first.bytes(); });
  return entries;
}

std::vector<const Dict::Entry*> entries_in_order(const Dict& dict) {
  std::vector<const Dict::Entry*> entries;
  entries.reserve(dict.size());
  for (const Dict::Entry& entry : dict.entries()) entries.push_back(&entry);
  return entries;
}

Status JsonWriter::append_dict(const Dict& dict) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<const Dict::Entry*> entries,
                          style_.sorts_keys ? sorted_entries(dict) : entries_in_order(dict));
  put("{");
  ++level_;
  for (size_t i = 0; i < entries.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(begin_item(i == 0));
    SLUICE_RETURN_IF_ERROR(append_key(entries[i]->first));
    out_.append(style_.key_separator);
    SLUICE_RETURN_IF_ERROR(append(entries[i]->second));
  }
  --level_;
  if (!entries.empty()) SLUICE_RETURN_IF_ERROR(new_line());
  put("}");
  return {};
}

Status JsonWriter::append_scalar(const Value& value) {
  switch (value.kind()) {
    case Kind::kNone:
      put("null");
      return {};
    case Kind::kBool:
      put(value.as_bool() ? "true" : "false");
      return {};
    case Kind::kInt:
      put(std::to_string(value.as_int()));
      return {};
    case Kind::kFloat:
      put(json_float(value.as_float()));
      return {};
    case Kind::kString:
      SLUICE_RETURN_IF_ERROR(budget_.take_work(value.bytes().size()));
      append_string(out_, value.text(), style_.is_ascii);
      return {};
    default:
      return failed_precondition("Object of type " + type_name(value) + " is not JSON serializable");
  }
}

bool is_json_array(const Value& value) {
  if (!value.is(Kind::kSequence)) return false;
  const SequenceKind kind = value.sequence().kind;
  return kind == SequenceKind::kList || kind == SequenceKind::kTuple;
}

Status JsonWriter::append(const Value& value) {
  SLUICE_RETURN_IF_ERROR(budget_.take_steps());
  if (is_json_array(value)) {
    SLUICE_RETURN_IF_ERROR(append_list(value.sequence().items));
  } else if (value.is(Kind::kDict)) {
    SLUICE_RETURN_IF_ERROR(append_dict(value.dict()));
  } else {
    SLUICE_RETURN_IF_ERROR(append_scalar(value));
  }
  return out_.size() > budget_.limits().value_bytes_max ? budget_.take_value(out_.size()) : Status();
}

}  // namespace

Result<Text> to_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  SLUICE_RETURN_IF_ERROR(writer.append(value));
  return std::move(writer).take();
}

}  // namespace sluice::jinja
