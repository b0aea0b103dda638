#include "engine/jinja/text_tools.h"

#include <algorithm>
#include <string_view>

namespace sluice::jinja {
namespace {

bool is_stripped(std::string_view character, char32_t code, const std::optional<Text>& characters) {
  return characters ? characters->bytes().find(character) != std::string::npos : is_space(code);
}

/// [begin, end) of the pieces between separators, from the left.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
};

std::vector<Piece> pieces_left(std::string_view text, std::string_view separator, int64_t count) {
  std::vector<Piece> pieces;
  size_t begin = 0;
  for (; count != 0; --count) {
    const size_t at = text.find(separator, begin);
    if (at == std::string_view::npos) break;
    pieces.push_back({begin, at});
    begin = at + separator.size();
  }
  pieces.push_back({begin, text.size()});
  return pieces;
}

std::vector<Piece> pieces_right(std::string_view text, std::string_view separator, int64_t count) {
  std::vector<Piece> pieces;
  size_t end = text.size();
  for (; count != 0 && end >= separator.size(); --count) {
    const size_t at = text.rfind(separator, end - separator.size());
    if (at == std::string_view::npos) break;
    pieces.push_back({at + separator.size(), end});
    end = at;
  }
  pieces.push_back({0, end});
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

size_t skip_left(std::string_view text, size_t at, bool over_blanks) {
  while (at < text.size()) {
    const Character character = character_at(text, at);
    if (is_space(character.code) != over_blanks) break;
    at += character.size;
  }
  return at;
}

size_t skip_right(std::string_view text, size_t end, bool over_blanks) {
  while (end > 0) {
    const size_t size = size_before(text, end);
    if (is_space(character_at(text, end - size).code) != over_blanks) break;
    end -= size;
  }
  return end;
}

std::vector<Piece> words_left(std::string_view text, int64_t count) {
  std::vector<Piece> pieces;
  size_t at = skip_left(text, 0, /*over_blanks=*/true);
  while (at < text.size()) {
    const size_t end = count-- == 0 ? text.size() : skip_left(text, at, false);
    pieces.push_back({at, end});
    at = skip_left(text, end, true);
  }
  return pieces;
}

std::vector<Piece> words_right(std::string_view text, int64_t count) {
  std::vector<Piece> pieces;
  size_t end = skip_right(text, text.size(), /*over_blanks=*/true);
  while (end > 0) {
    const size_t begin = count-- == 0 ? 0 : skip_right(text, end, false);
    pieces.push_back({begin, end});
    end = skip_right(text, begin, true);
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<Piece> pieces_of(const Text& text, const std::optional<Text>& separator, int64_t count, bool is_right) {
  const std::string_view bytes = text.bytes();
  if (separator) {
    return is_right ? pieces_right(bytes, separator->bytes(), count) : pieces_left(bytes, separator->bytes(), count);
  }
  return is_right ? words_right(bytes, count) : words_left(bytes, count);
}

/// Each character through `change`, which gives its new spelling.
template <typename Change>
Text changed(const Text& text, const Change& change) {
  Text out;
  for (size_t i = 0; i < text.size();) {
    const Character character = character_at(text.bytes(), i);
    out.append(change(character.code), text.origin_at(i));
    i += character.size;
  }
  return out;
}

/// An empty `from` stands before each character and at the end.
std::vector<size_t> places_of(const Text& text, const Text& from, int64_t count) {
  std::vector<size_t> places;
  size_t at = 0;
  while (count != 0 && at <= text.size()) {
    const size_t found = text.bytes().find(from.bytes(), at);
    if (found == std::string::npos) break;
    places.push_back(found);
    --count;
    if (!from.empty()) {
      at = found + from.size();
    } else if (found < text.size()) {
      at = found + character_at(text.bytes(), found).size;
    } else {
      break;
    }
  }
  return places;
}

}  // namespace

Text strip(const Text& text, Side side, const std::optional<Text>& characters) {
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  size_t end = bytes.size();
  while (side != Side::kRight && begin < end) {
    const Character character = character_at(bytes, begin);
    if (!is_stripped(bytes.substr(begin, character.size), character.code, characters)) break;
    begin += character.size;
  }
  while (side != Side::kLeft && end > begin) {
    const size_t size = size_before(bytes, end);
    if (!is_stripped(bytes.substr(end - size, size), character_at(bytes, end - size).code, characters)) break;
    end -= size;
  }
  return text.slice(begin, end - begin);
}

Result<Text> replace(Runtime& runtime, const Text& text, const Text& from, const Text& to, int64_t count) {
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(text.size(), from.size()));
  const std::vector<size_t> places = places_of(text, from, count);
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(places.size(), to.size() + sizeof(size_t)));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(text.size() + places.size() * to.size()));
  Text out;
  size_t done = 0;
  for (const size_t place : places) {
    out.append(text, done, place - done);
    out.append(to);
    done = place + from.size();
  }
  out.append(text, done, text.size() - done);
  return out;
}

Result<std::vector<Value>> split(Runtime& runtime, const Text& text, const std::optional<Text>& separator,
                                 int64_t count, bool is_right) {
  if (separator && separator->empty()) return wrong_use("empty separator");
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_search(text.size(), separator ? separator->size() : 0));
  const std::vector<Piece> pieces = pieces_of(text, separator, count, is_right);
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(Runtime::list_bytes(pieces.size())));
  std::vector<Value> parts;
  parts.reserve(pieces.size());
  for (const Piece& piece : pieces) parts.emplace_back(text.slice(piece.begin, piece.end - piece.begin));
  return parts;
}

std::vector<Text> split_lines(const Text& text, bool keeps_ends) {
  std::vector<Text> lines;
  const std::string_view bytes = text.bytes();
  size_t begin = 0;
  for (size_t i = 0; i < bytes.size();) {
    const Character character = character_at(bytes, i);
    const size_t end = i;
    i += character.size;
    if (!is_line_break(character.code)) continue;
    if (character.code == U'\r' && i < bytes.size() && bytes[i] == '\n') ++i;
    lines.push_back(text.slice(begin, (keeps_ends ? i : end) - begin));
    begin = i;
  }
  if (begin < bytes.size()) lines.push_back(text.slice(begin, bytes.size() - begin));
  return lines;
}

Result<Text> join(Runtime& runtime, const Text& separator, const std::vector<Text>& parts) {
  size_t size = 0;
  for (const Text& part : parts) size += part.size();
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_values(parts.size(), separator.size()));
  SLUICE_RETURN_IF_ERROR(runtime.budget().take_value(size + parts.size() * separator.size()));
  Text out;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out.append(separator);
    out.append(parts[i]);
  }
  return out;
}

Text in_case(const Text& text, LetterCase wanted) {
  return changed(text, [&](char32_t code) { return in_case(code, wanted); });
}

Text capitalize(const Text& text) {
  bool is_first = true;
  return changed(text, [&](char32_t code) {
    return in_case(code, std::exchange(is_first, false) ? LetterCase::kTitle : LetterCase::kLower);
  });
}

bool has_only_case(const Text& text, LetterCase wanted) {
  const bool wants_upper = wanted == LetterCase::kUpper;
  bool has_wanted = false;
  for (size_t i = 0; i < text.size(); i += character_at(text.bytes(), i).size) {
    const char32_t code = character_at(text.bytes(), i).code;
    if (wants_upper ? is_lower(code) : is_upper(code)) return false;
    has_wanted = has_wanted || (wants_upper ? is_upper(code) : is_lower(code));
  }
  return has_wanted;
}

Text title(const Text& text) {
  bool is_inside = false;
  return changed(text, [&](char32_t code) {
    std::string out = in_case(code, is_inside ? LetterCase::kLower : LetterCase::kTitle);
    is_inside = is_letter(code);
    return out;
  });
}

}  // namespace sluice::jinja
