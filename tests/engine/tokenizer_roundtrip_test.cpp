#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/utf8.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

std::string utf8_of(uint32_t character) {
  const auto tail = [&](unsigned shift) { return static_cast<char>(0x80U | ((character >> shift) & 0x3FU)); };
  if (character < 0x80) return {static_cast<char>(character)};
  if (character < 0x800) return {static_cast<char>(0xC0U | (character >> 6U)), tail(0)};
  if (character < 0x10000) return {static_cast<char>(0xE0U | (character >> 12U)), tail(6), tail(0)};
  return {static_cast<char>(0xF0U | (character >> 18U)), tail(12), tail(6), tail(0)};
}

/// Any character but a surrogate; small numbers are as likely as each larger size.
uint32_t random_character(uint64_t seed, uint64_t counter) {
  constexpr std::array<uint32_t, 4> kEnds = {0x80, 0x800, 0x10000, 0x110000};
  const uint64_t bits = random_bits(seed, counter);
  const auto character = static_cast<uint32_t>((bits >> 8U) % kEnds[bits % kEnds.size()]);
  return character >= 0xD800 && character < 0xE000 ? character - 0x800 : character;
}

std::string random_text(uint64_t seed) {
  constexpr std::array<std::string_view, 12> kUsual = {" ",   "  ", "\n", "\r\n", "'ll", "the",
                                                       "THE", "42", ".",  "\t",   "e",   "th"};
  std::string text;
  const uint64_t parts = random_bits(seed, 0) % 40;
  for (uint64_t i = 1; i <= parts; ++i) {
    const uint64_t choice = random_bits(seed, 1000 + i);
    text += choice % 3 == 0 ? utf8_of(random_character(seed, i)) : std::string(kUsual[(choice >> 8U) % kUsual.size()]);
  }
  return text;
}

TEST(TokenizerFuzz, DecodesWhatItEncodesByteForByte) {
  for (const std::string_view pre : {"smollm", "gpt-2", "deepseek-r1-qwen", "llama-bpe", "default", "falcon",
                                     "deepseek-llm", "deepseek-coder", "deepseek-v3", "tekken", "gpt-4o"}) {
    VocabularyFile vocabulary(pre);
    vocabulary.merge("t", "h");
    vocabulary.merge("th", "e");
    vocabulary.merge("Ġ", "the");
    vocabulary.merge("Ġ", "Ġ");
    vocabulary.merge("Ċ", "Ċ");
    vocabulary.add("<|end|>", kControl);
    const auto tokenizer = tokenizer_of(vocabulary);
    ASSERT_NE(tokenizer, nullptr);
    for (uint64_t seed = 0; seed < 2000; ++seed) {
      const std::string text = random_text(seed);
      ASSERT_EQ(decode(*tokenizer, encode(*tokenizer, text)), text) << pre << ", seed " << seed;
    }
  }
}

TEST(TokenizerFuzz, EncodesOrRefusesAnyBytesAsTheyAreUtf8OrNot) {
  const auto tokenizer = tokenizer_of(VocabularyFile("llama-bpe"));
  ASSERT_NE(tokenizer, nullptr);
  int refused = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::string text = random_text(seed);
    if (text.empty()) continue;
    text[random_bits(seed, 5000) % text.size()] = static_cast<char>(random_bits(seed, 5001));
    const Result<std::vector<int32_t>> ids = tokenizer->encode(text, SpecialTokens::kParse);
    ASSERT_EQ(ids.ok(), is_valid_utf8(text)) << "seed " << seed;
    refused += ids.ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 500);
}

TEST(TokenizerFuzz, SurvivesDamagedVocabularies) {
  VocabularyFile vocabulary("smollm");
  vocabulary.merge("a", "b");
  vocabulary.add("<|end|>", kControl);
  const std::vector<std::byte> good = vocabulary.builder().u32("tokenizer.ggml.eos_token_id", 257).build();
  int opened = 0;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    std::vector<std::byte> bytes = good;
    for (uint64_t i = 0; i < 3; ++i) {
      bytes[random_bits(seed, 2 * i) % bytes.size()] = static_cast<std::byte>(random_bits(seed, 2 * i + 1));
    }
    const TemporaryFile file(bytes);
    const Result<std::unique_ptr<Tokenizer>> tokenizer = open_tokenizer(file.path());
    if (!tokenizer.ok()) continue;
    ++opened;
    EXPECT_TRUE((*tokenizer)->encode("The quick brown fox", SpecialTokens::kParse).ok()) << "seed " << seed;
  }
  EXPECT_GT(opened, 0);
}

}  // namespace
}  // namespace sluice::engine
