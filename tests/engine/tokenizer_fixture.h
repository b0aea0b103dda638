#pragma once

#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/bpe_alphabet.h"
#include "engine/detokenizer.h"
#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "tests/engine/gguf_builder.h"

namespace sluice::engine {

// Token types of the GGUF format.
constexpr int32_t kNormal = 1;
constexpr int32_t kUnknown = 2;
constexpr int32_t kControl = 3;
constexpr int32_t kUserDefined = 4;
constexpr int32_t kUnusedType = 5;

/// The tokenizer part of a GGUF file. It starts as a good one: 256 byte tokens (id = byte), no merges; a test adds to
/// it or breaks it.
struct VocabularyFile {
  explicit VocabularyFile(std::string_view pretokenizer) : pre(pretokenizer) {
    for (int byte = 0; byte < 256; ++byte) add(spell_byte(static_cast<uint8_t>(byte)), kNormal);
  }

  /// The id of the new token.
  int32_t add(std::string_view name, int32_t type) {
    tokens.emplace_back(name);
    types.push_back(type);
    return static_cast<int32_t>(tokens.size()) - 1;
  }
  /// Adds the merge of two words and its token, all in the byte-level spelling.
  int32_t merge(std::string_view left, std::string_view right) {
    merges.push_back(std::string(left) + " " + std::string(right));
    return add(std::string(left) + std::string(right), kNormal);
  }

  GgufBuilder builder() const {
    GgufBuilder file;
    file.string("tokenizer.ggml.model", model).string("tokenizer.ggml.pre", pre);
    file.strings("tokenizer.ggml.tokens", tokens).strings("tokenizer.ggml.merges", merges);
    ByteWriter array;
    array.number(uint32_t{5}).number(uint64_t{types.size()});
    for (const int32_t type : types) array.number(type);
    return file.metadata("tokenizer.ggml.token_type", 9, array);
  }

  std::string model = "gpt2";
  std::string pre;
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  std::vector<std::string> merges;
};

inline Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::open(path));
  return Tokenizer::from_gguf(file);
}

inline Result<std::unique_ptr<Tokenizer>> open_tokenizer(const GgufBuilder& builder) {
  const TemporaryFile file(builder.build());
  return open_tokenizer(file.path());
}

/// nullptr, with a failure of the test, when the vocabulary is refused.
inline std::unique_ptr<Tokenizer> tokenizer_of(const GgufBuilder& builder) {
  Result<std::unique_ptr<Tokenizer>> tokenizer = open_tokenizer(builder);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status();
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

inline std::unique_ptr<Tokenizer> tokenizer_of(const VocabularyFile& vocabulary) {
  return tokenizer_of(vocabulary.builder());
}

/// The tokenizer of the default model, read once for the test it is in.
inline std::unique_ptr<Tokenizer> default_model_tokenizer() {
  const std::string path = std::string(SLUICE_MODELS) + "/SmolLM2-135M-Instruct.Q4_1.gguf";
  Result<std::unique_ptr<Tokenizer>> tokenizer = open_tokenizer(path);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.status() << "; ./quickstart fetches the default model";
  return tokenizer.ok() ? std::move(*tokenizer) : nullptr;
}

inline std::vector<int32_t> encode(const Tokenizer& tokenizer, std::string_view text,
                                   SpecialTokens special = SpecialTokens::kAsText) {
  const Result<std::vector<int32_t>> ids = tokenizer.encode(text, special);
  EXPECT_TRUE(ids.ok()) << ids.status();
  return ids.ok() ? *ids : std::vector<int32_t>{};
}

/// What a reader of a stream of these tokens sees in the end.
inline std::string decode(const Tokenizer& tokenizer, const std::vector<int32_t>& ids) {
  Detokenizer detokenizer(tokenizer);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

inline std::string repeated(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

/// Processor time of this process, so that a busy machine doesn't make a test of speed fail.
inline double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

}  // namespace sluice::engine
