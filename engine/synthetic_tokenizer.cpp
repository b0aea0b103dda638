#include "engine/synthetic_tokenizer.h"

#include <string>
#include <utility>

#include "base/check.h"
#include "engine/bpe_tokenizer.h"
#include "engine/tokenizer_spec.h"

namespace sluice::engine {
namespace {

constexpr int32_t kBytes = 256;
constexpr int32_t kBos = 256;
constexpr int32_t kEos = 257;
constexpr const char* kBosName = "<|bos|>";
constexpr const char* kEosName = "<|eos|>";

constexpr std::string_view kChatTemplate =
    "{{ bos_token }}{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}assistant:{% endif %}";

/// A blank and the number in letters, lowest first.
std::string word_of(int32_t number) {
  constexpr int32_t kLetters = 26;
  std::string word = " ";
  do {
    word += static_cast<char>('a' + number % kLetters);
    number /= kLetters;
  } while (number > 0);
  return word;
}

}  // namespace

std::unique_ptr<Tokenizer> make_synthetic_tokenizer(int32_t vocab_size) {
  SLUICE_CHECK(vocab_size >= kSyntheticTokensMin);
  TokenizerSpec spec;
  for (int32_t byte = 0; byte < kBytes; ++byte) {
    spec.tokens.push_back({.bytes = std::string(1, static_cast<char>(byte))});
    spec.model.symbols.byte_ids[static_cast<size_t>(byte)] = byte;
  }
  for (const auto& [name, id] : {std::pair(kBosName, kBos), std::pair(kEosName, kEos)}) {
    spec.tokens.push_back({.bytes = name, .is_special = true});
    spec.added.push_back({.name = name, .id = id, .is_special = true});
  }
  for (int32_t id = kSyntheticTokensMin; id < vocab_size; ++id) {
    spec.tokens.push_back({.bytes = word_of(id - kSyntheticTokensMin)});
  }
  spec.bos_id = kBos;
  spec.prefix_ids = {kBos};
  spec.end_ids = {kEos};
  return std::make_unique<BpeTokenizer>(std::move(spec));
}

ChatTemplate make_synthetic_chat_template() {
  Result<ChatTemplate> compiled = ChatTemplate::compile(kChatTemplate, {.bos = kBosName, .eos = kEosName});
  SLUICE_CHECK(compiled.ok());
  return *std::move(compiled);
}

}  // namespace sluice::engine
