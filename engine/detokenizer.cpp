#include "engine/detokenizer.h"

#include "engine/tokenizer.h"

namespace sluice::engine {

std::string Detokenizer::push(int32_t id) {
  if (tokenizer_->is_special(id)) return {};
  held_ += tokenizer_->token_bytes(id);
  const size_t complete = complete_utf8_prefix(held_);
  std::string text = sanitize_utf8(std::string_view(held_).substr(0, complete));
  held_.erase(0, complete);
  return text;
}

std::string Detokenizer::flush() {
  std::string text = sanitize_utf8(held_);
  held_.clear();
  return text;
}

}  // namespace sluice::engine
