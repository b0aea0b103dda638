#include "engine/fitted_tokenizer.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/printable_name.h"

namespace sluice::engine {

FittedTokenizer::FittedTokenizer(std::unique_ptr<Tokenizer> tokenizer, int32_t vocab_size,
                                 std::span<const int32_t> end_ids)
    : tokenizer_(std::move(tokenizer)), vocab_size_(vocab_size) {
  std::set<int32_t> ends(end_ids.begin(), end_ids.end());
  for (const int32_t id : tokenizer_->end_ids()) {
    if (id < vocab_size) ends.insert(id);
  }
  end_ids_.assign(ends.begin(), ends.end());
}

Result<std::vector<int32_t>> FittedTokenizer::encode(std::string_view text, SpecialTokens special) const {
  return checked(tokenizer_->encode(text, special));
}

Result<std::vector<int32_t>> FittedTokenizer::encode(std::span<const TextRun> runs) const {
  return checked(tokenizer_->encode(runs));
}

Result<std::vector<int32_t>> FittedTokenizer::checked(Result<std::vector<int32_t>> ids) const {
  if (!ids.ok() || tokenizer_->vocab_size() <= vocab_size_) return ids;
  const auto beyond = std::ranges::find_if(*ids, [this](int32_t id) { return id >= vocab_size_; });
  if (beyond == ids->end()) return ids;
  return invalid_argument("the text has the token " + printable_name(tokenizer_->token_bytes(*beyond)) +
                          ", which the model doesn't know");
}

std::string_view FittedTokenizer::token_bytes(int32_t id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size_);
  return id < tokenizer_->vocab_size() ? tokenizer_->token_bytes(id) : std::string_view();
}

bool FittedTokenizer::is_special(int32_t id) const {
  SLUICE_CHECK(id >= 0 && id < vocab_size_);
  return id >= tokenizer_->vocab_size() || tokenizer_->is_special(id) || std::ranges::binary_search(end_ids_, id);
}

std::optional<int32_t> FittedTokenizer::bos_id() const {
  const std::optional<int32_t> id = tokenizer_->bos_id();
  return id.has_value() && *id < vocab_size_ ? id : std::nullopt;
}

}  // namespace sluice::engine
