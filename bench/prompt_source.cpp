#include "bench/prompt_source.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/counter_random.h"

namespace sluice::bench {
namespace {

/// Independent streams of random numbers from one seed.
enum class Draw : uint64_t { kShift = 1, kTokens = 2, kPrefix = 3 };

uint64_t stream_seed(uint64_t seed, Draw draw) {
  return random_bits(seed, static_cast<uint64_t>(draw));
}

constexpr std::array<std::string_view, 64> kWords{
    "time",   "year",   "people", "way",    "day",   "man",   "thing",  "woman", "life",   "child", "world",
    "school", "state",  "hand",   "part",   "place", "case",  "week",   "work",  "point",  "home",  "water",
    "room",   "area",   "money",  "story",  "fact",  "month", "lot",    "right", "study",  "book",  "eye",
    "job",    "word",   "side",   "kind",   "head",  "house", "line",   "end",   "group",  "city",  "name",
    "team",   "idea",   "body",   "back",   "face",  "level", "office", "door",  "health", "art",   "war",
    "party",  "result", "change", "reason", "air",   "force", "foot",   "music", "paper"};

std::string words_of(const std::vector<size_t>& choices) {
  std::string text;
  for (const size_t choice : choices) {
    if (!text.empty()) text += ' ';
    text += kWords[choice];
  }
  return text;
}

}  // namespace

PromptSource::PromptSource(PromptForm form, std::vector<int32_t> ids, uint64_t seed)
    : form_(form), ids_(std::move(ids)), seed_(seed) {}

Result<PromptSource> PromptSource::of_tokens(int32_t vocab_size, const std::vector<int32_t>& excluded, uint64_t seed) {
  std::vector<int32_t> ids;
  for (int32_t id = 0; id < vocab_size; ++id) {
    if (std::find(excluded.begin(), excluded.end(), id) == excluded.end()) ids.push_back(id);
  }
  if (ids.empty()) return failed_precondition("the served vocabulary has no token to make prompts of");
  return PromptSource(PromptForm::kTokens, std::move(ids), seed);
}

PromptSource PromptSource::of_words(PromptForm form, uint64_t seed) {
  SLUICE_CHECK(form != PromptForm::kTokens);
  return {form, {}, seed};
}

size_t PromptSource::choice_count() const {
  return form_ == PromptForm::kTokens ? ids_.size() : kWords.size();
}

std::vector<size_t> PromptSource::choices(uint64_t number, int32_t length, int32_t shared) const {
  const size_t count = choice_count();
  const uint64_t prefix_seed = stream_seed(seed_, Draw::kPrefix);
  const uint64_t tokens_seed = random_bits(stream_seed(seed_, Draw::kTokens), number);
  std::vector<size_t> choices;
  choices.reserve(static_cast<size_t>(shared + length));
  for (uint64_t i = 0; i < static_cast<uint64_t>(shared); ++i) choices.push_back(random_bits(prefix_seed, i) % count);
  choices.push_back((stream_seed(seed_, Draw::kShift) % count + number) % count);
  for (uint64_t i = 1; i < static_cast<uint64_t>(length); ++i) choices.push_back(random_bits(tokens_seed, i) % count);
  return choices;
}

Ask::Prompt PromptSource::prompt(uint64_t number, int32_t length, int32_t shared) const {
  const std::vector<size_t> choices = this->choices(number, length, shared);
  if (form_ == PromptForm::kText) return words_of(choices);
  if (form_ == PromptForm::kChat) return Ask::Chat{{.role = "user", .content = words_of(choices)}};
  Ask::Tokens ids;
  ids.reserve(choices.size());
  for (const size_t choice : choices) ids.push_back(ids_[choice]);
  return ids;
}

Ask::Prompt operator+(Ask::Prompt before, const Ask::Prompt& more) {
  SLUICE_CHECK(before.index() == more.index());
  if (auto* const ids = std::get_if<Ask::Tokens>(&before)) {
    const auto& added = std::get<Ask::Tokens>(more);
    ids->insert(ids->end(), added.begin(), added.end());
  } else if (auto* const text = std::get_if<Ask::Text>(&before)) {
    *text += std::get<Ask::Text>(more);
  } else {
    const auto& added = std::get<Ask::Chat>(more);
    auto& chat = std::get<Ask::Chat>(before);
    chat.insert(chat.end(), added.begin(), added.end());
  }
  return before;
}

}  // namespace sluice::bench
