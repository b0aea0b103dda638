#include "engine/stop_matcher.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::engine {

StopMatcher::StopMatcher(std::vector<std::string> stops) {
  for (std::string& stop : stops) {
    SLUICE_CHECK(!stop.empty());
    std::vector<size_t> border = borders(stop);
    patterns_.push_back({.text = std::move(stop), .border = std::move(border)});
  }
}

std::string StopMatcher::push(std::string_view text) {
  if (stopped()) return {};
  const size_t held_before = held_.size();
  held_ += text;
  for (size_t i = 0; i < text.size(); ++i) {
    const Pattern* const complete = advance_all(text[i]);
    if (complete == nullptr) continue;
    matched_ = complete->text;
    held_.resize(held_before + i + 1 - matched_.size());
    return std::exchange(held_, {});
  }
  const size_t safe = held_.size() - longest_partial_match();
  std::string out = held_.substr(0, safe);
  held_.erase(0, safe);
  return out;
}

std::string StopMatcher::flush() {
  for (Pattern& pattern : patterns_) pattern.matched = 0;
  return std::exchange(held_, {});
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

size_t StopMatcher::longest_partial_match() const {
  size_t longest = 0;
  for (const Pattern& pattern : patterns_) longest = std::max(longest, pattern.matched);
  return longest;
}

}  // namespace sluice::engine
