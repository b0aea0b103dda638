#include "engine/detokenizer.h"

#include <algorithm>

#include "engine/tokenizer.h"

namespace sluice::engine {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, TextExtent extent)
    : tokenizer_(&tokenizer), blanks_left_(extent == TextExtent::kWhole ? tokenizer.dropped_blanks().count_max : 0) {}

std::string Detokenizer::push(int32_t id) {
  if (tokenizer_->is_special(id)) return {};
  held_ += without_dropped_blanks(tokenizer_->token_bytes(id));
  const size_t complete = complete_utf8_prefix(held_);
  std::string text = sanitize_utf8(std::string_view(held_).substr(0, complete));
  held_.erase(0, complete);
  return text;
}

std::string Detokenizer::push_with_name(int32_t id) {
  if (!tokenizer_->is_special(id)) return push(id);
  return flush() += tokenizer_->token_bytes(id);
}

std::string Detokenizer::flush() {
  std::string text = sanitize_utf8(held_);
  held_.clear();
  blanks_left_ = 0;
  return text;
}

std::string_view Detokenizer::without_dropped_blanks(std::string_view bytes) {
  if (blanks_left_ == 0 || bytes.empty()) return bytes;
  const size_t blanks = std::min(bytes.find_first_not_of(' '), bytes.size());
  const size_t dropped = std::min(blanks, blanks_left_);
  const bool goes_on = dropped == bytes.size() && !tokenizer_->dropped_blanks().first_token_only;
  blanks_left_ = goes_on ? blanks_left_ - dropped : 0;
  return bytes.substr(dropped);
}

}  // namespace sluice::engine
