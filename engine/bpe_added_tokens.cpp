#include "engine/bpe_added_tokens.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

uint8_t byte_at(std::string_view text, size_t index) {
  return static_cast<uint8_t>(text[index]);
}

/// Orders names by one byte; a name that ends before it comes first.
int byte_or_end(const BpeAddedTokens::Name& name, size_t index) {
  return index < name.text.size() ? byte_at(name.text, index) : -1;
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

BpeAddedTokens::BpeAddedTokens(std::vector<Name> names) : names_(std::move(names)) {
  std::sort(names_.begin(), names_.end(), [](const Name& a, const Name& b) { return a.text < b.text; });
  for (const Name& name : names_) {
    SLUICE_CHECK(!name.text.empty());
    begins_name_[byte_at(name.text, 0)] = true;
  }
}

std::optional<BpeAddedTokens::Match> BpeAddedTokens::find(std::string_view text, size_t from,
                                                          const SpecialBytes& special) const {
  if (names_.empty()) return std::nullopt;
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_name_[byte_at(text, begin)]) continue;
    if (const std::optional<Match> match = longest_at(text, begin, special)) return match;
  }
  return std::nullopt;
}

std::optional<BpeAddedTokens::Match> BpeAddedTokens::longest_at(std::string_view text, size_t begin,
                                                                const SpecialBytes& special) const {
  std::optional<Match> longest;
  // [first, last) are the names that begin with the bytes seen so far. Being sorted, they have the one that ends here
  // in front.
  auto first = names_.begin();
  auto last = names_.end();
  for (size_t size = 0; begin + size < text.size(); ++size) {
    const int wanted = byte_at(text, begin + size);
    first = std::partition_point(first, last, [&](const Name& name) { return byte_or_end(name, size) < wanted; });
    last = std::partition_point(first, last, [&](const Name& name) { return byte_or_end(name, size) == wanted; });
    if (first == last) break;
    if (first->text.size() != size + 1) continue;
    if (!first->is_special || special.cover(begin, begin + size + 1)) {
      longest = {.begin = begin, .size = size + 1, .id = first->id};
    }
  }
  return longest;
}

}  // namespace sluice::engine
