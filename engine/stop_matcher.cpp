#include "engine/stop_matcher.h"

#include <utility>

#include "base/check.h"

namespace sluice::engine {
namespace {

/// The first `size` bytes of two texts put together.
std::string head(std::string_view first, std::string_view second, size_t size) {
  std::string out(first.substr(0, size));
  out += second.substr(0, size - out.size());
  return out;
}

}  // namespace

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    SLUICE_CHECK(!stop.empty());
    std::vector<size_t> border = borders(stop);
    patterns_.push_back({.text = std::move(stop), .border = std::move(border)});
  }
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped()) return {};
  const std::string_view held_before = held();
  for (size_t i = 0; i < text.size(); ++i) {
    const Pattern* const complete = advance_all(text[i]);
    if (complete == nullptr) continue;
    matched_ = complete->text;
    return head(held_before, text, held_before.size() + i + 1 - matched_.size());
  }
  return head(held_before, text, held_before.size() + text.size() - held().size());
}

std::string StopMatcher::flush() {
  if (stopped()) return {};
  std::string tail(held());
  for (Pattern& pattern : patterns_) pattern.matched = 0;
  return tail;
}

std::vector<size_t> StopMatcher::borders(std::string_view text) {
  std::vector<size_t> border(text.size(), 0);
  for (size_t i = 1; i < text.size(); ++i) {
    size_t length = border[i - 1];
    while (length > 0 && text[i] != text[length]) length = border[length - 1];
    border[i] = text[i] == text[length] ? length + 1 : 0;
  }
  return border;
}

bool StopMatcher::advance(Pattern& pattern, char byte) {
  while (pattern.matched > 0 && pattern.text[pattern.matched] != byte) {
    pattern.matched = pattern.border[pattern.matched - 1];
  }
  if (pattern.text[pattern.matched] == byte) ++pattern.matched;
  return pattern.matched == pattern.text.size();
}

const StopMatcher::Pattern* StopMatcher::advance_all(char byte) {
  const Pattern* longest = nullptr;
  for (Pattern& pattern : patterns_) {
    const bool complete = advance(pattern, byte);
    if (complete && (longest == nullptr || pattern.text.size() > longest->text.size())) longest = &pattern;
  }
  return longest;
}

std::string_view StopMatcher::held() const {
  std::string_view longest;
  for (const Pattern& pattern : patterns_) {
    if (pattern.matched > longest.size()) longest = std::string_view(pattern.text).substr(0, pattern.matched);
  }
  return longest;
}

}  // namespace sluice::engine
