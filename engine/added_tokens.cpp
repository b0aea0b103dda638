#include "engine/added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

uint8_t byte_at(std::string_view text, size_t index) {
  return static_cast<uint8_t>(text[index]);
}

/// Orders names by one byte; a name that ends before it comes first.
int byte_or_end(const AddedToken& token, size_t index) {
  return index < token.name.size() ? byte_at(token.name, index) : -1;
}

bool stands_alone(std::string_view text, size_t begin, size_t end) {
  return !ends_in_word(text.substr(0, begin)) && !begins_with_word(text.substr(end));
}

}  // namespace

void SpecialBytes::add(size_t begin, size_t end) {
  if (begin == end) return;
  if (!spans_.empty() && spans_.back().end == begin) {
    spans_.back().end = end;
  } else {
    SLUICE_CHECK(begin < end && (spans_.empty() || spans_.back().end < begin));
    spans_.push_back({.begin = begin, .end = end});
  }
}

bool SpecialBytes::cover(size_t begin, size_t end) const {
  const auto span = std::partition_point(spans_.begin(), spans_.end(), [&](const Span& s) { return s.end <= begin; });
  return span != spans_.end() && span->begin <= begin && end <= span->end;
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(), [](const AddedToken& a, const AddedToken& b) { return a.name < b.name; });
  for (const AddedToken& token : tokens_) {
    SLUICE_CHECK(!token.name.empty());
    begins_name_[byte_at(token.name, 0)] = true;
  }
}

std::optional<AddedTokens::Match> AddedTokens::find(std::string_view text, size_t from,
                                                    const SpecialBytes& special) const {
  if (tokens_.empty()) return std::nullopt;
  for (size_t begin = from; begin < text.size();) {
    const AddedToken* const token = begins_name_[byte_at(text, begin)] ? longest_at(text, begin, special) : nullptr;
    if (token == nullptr) {
      ++begin;
      continue;
    }
    Match match = {.begin = begin, .end = begin + token->name.size(), .id = token->id};
    if (token->is_single_word && !stands_alone(text, match.begin, match.end)) {
      begin = match.end;
      continue;
    }
    if (token->takes_left) match.begin -= trailing_space_bytes(text.substr(from, match.begin - from));
    if (token->takes_right) match.end += leading_space_bytes(text.substr(match.end));
    return match;
  }
  return std::nullopt;
}

const AddedToken* AddedTokens::longest_at(std::string_view text, size_t begin, const SpecialBytes& special) const {
  const AddedToken* longest = nullptr;
  // [first, last) are the names that begin with the bytes seen so far. Being sorted, they have the one that ends here
  // in front.
  auto first = tokens_.begin();
  auto last = tokens_.end();
  for (size_t size = 0; begin + size < text.size(); ++size) {
    const int wanted = byte_at(text, begin + size);
    first = std::partition_point(first, last, [&](const AddedToken& t) { return byte_or_end(t, size) < wanted; });
    last = std::partition_point(first, last, [&](const AddedToken& t) { return byte_or_end(t, size) == wanted; });
    if (first == last) break;
    if (first->name.size() != size + 1) continue;
    if (!first->is_special || special.cover(begin, begin + size + 1)) longest = &*first;
  }
  return longest;
}

}  // namespace sluice::engine
