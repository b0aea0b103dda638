#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

constexpr int32_t kByte = 6;

/// A vocabulary of tokenizer.ggml.model "llama": 0 unk, 1 bos, 2 eos, 3 to 258 the bytes, then what a test adds.
struct SentencePieceFile {
  SentencePieceFile() {
    add("<unk>", 0, kUnknown);
    add("<s>", 0, kControl);
    add("</s>", 0, kControl);
    constexpr std::string_view kDigits = "0123456789ABCDEF";
    for (size_t byte = 0; byte < 256; ++byte) {
      add(std::string("<0x") + kDigits[byte / 16] + kDigits[byte % 16] + ">", 0, kByte);
    }
  }

  int32_t add(std::string_view name, float score, int32_t type = kNormal) {
    tokens.emplace_back(name);
    scores.push_back(score);
    types.push_back(type);
    return static_cast<int32_t>(tokens.size()) - 1;
  }

  GgufBuilder builder() const {
    GgufBuilder file;
    file.string("tokenizer.ggml.model", "llama").strings("tokenizer.ggml.tokens", tokens);
    file.u32("tokenizer.ggml.unknown_token_id", 0).u32("tokenizer.ggml.bos_token_id", 1);
    file.u32("tokenizer.ggml.eos_token_id", 2).boolean("tokenizer.ggml.add_space_prefix", adds_blank);
    ByteWriter score_array;
    score_array.number(uint32_t{6}).number(uint64_t{scores.size()});
    for (const float score : scores) score_array.number(score);
    file.metadata("tokenizer.ggml.scores", 9, score_array);
    ByteWriter type_array;
    type_array.number(uint32_t{5}).number(uint64_t{types.size()});
    for (const int32_t type : types) type_array.number(type);
    return file.metadata("tokenizer.ggml.token_type", 9, type_array);
  }

  bool adds_blank = true;
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<int32_t> types;
};

/// The vocabulary of the case.
SentencePieceFile case_vocabulary() {
  SentencePieceFile file;
  file.add("▁", -10);
  file.add("h", -11);
  file.add("i", -12);
  file.add("▁h", -1);
  file.add("hi", -2);
  file.add("▁hi", -3);
  file.add("▁▁", -4);
  return file;
}

std::string decode_whole(const Tokenizer& tokenizer, const Ids& ids) {
  Detokenizer detokenizer(tokenizer, TextExtent::kWhole);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

TEST(B08_TokenizerSentencepiece, EncodesByTheBestScoreWithABlankBeforeTheTextAlone) {
  const auto tokenizer = tokenizer_of(case_vocabulary().builder());
  const std::vector<std::pair<std::string, Ids>> cases = {
      {"hi", {264}},
      {"hi hi", {264, 264}},
      {" hi", {259, 264}},
      {"  hi", {265, 264}},
      {"é", {259, 198, 172}},
      {"👍", {259, 243, 162, 148, 144}},
      {"hi\nhi", {264, 13, 263}},
      {"", {}},
  };
  for (const auto& [text, ids] : cases) {
    EXPECT_EQ(encode(*tokenizer, text), ids) << text;
    EXPECT_EQ(decode_whole(*tokenizer, ids), text);
  }
}

TEST(B08_TokenizerSentencepiece, PutsNoBlankBehindASpecialToken) {
  const auto tokenizer = tokenizer_of(case_vocabulary().builder());
  EXPECT_EQ(encode(*tokenizer, "<s>hi</s>hi", SpecialTokens::kParse), (Ids{1, 263, 2, 263}));
  EXPECT_EQ(encode(*tokenizer, "hi</s>hi", SpecialTokens::kParse), (Ids{264, 2, 263}));
}

TEST(B08_TokenizerSentencepiece, DropsTheBlankAtTheStartOfAWholeTextOnly) {
  const auto tokenizer = tokenizer_of(case_vocabulary().builder());
  EXPECT_EQ(decode_whole(*tokenizer, {264}), "hi");
  EXPECT_EQ(decode_whole(*tokenizer, {263, 264}), "hi hi");
  EXPECT_EQ(decode_whole(*tokenizer, {1, 264}), "hi");
  EXPECT_EQ(decode(*tokenizer, {264, 264}), " hi hi");
}

TEST(B08_TokenizerSentencepiece, StreamsBytesAsSoonAsTheyAreACharacter) {
  const auto tokenizer = tokenizer_of(case_vocabulary().builder());
  Detokenizer detokenizer(*tokenizer);
  EXPECT_EQ(detokenizer.push(243), "");
  EXPECT_EQ(detokenizer.push(162), "");
  EXPECT_EQ(detokenizer.push(148), "");
  EXPECT_EQ(detokenizer.push(144), "👍");
}

TEST(B08_TokenizerSentencepiece, AddsNoBlankWhereTheFileSaysSo) {
  SentencePieceFile file = case_vocabulary();
  file.adds_blank = false;
  const auto tokenizer = tokenizer_of(file.builder());
  EXPECT_EQ(encode(*tokenizer, "hi"), (Ids{263}));
  EXPECT_EQ(decode_whole(*tokenizer, {264}), " hi");
}

TEST(SentencePiece, AddsBosUnlessTheFileSaysOtherwise) {
  EXPECT_TRUE(tokenizer_of(case_vocabulary().builder())->adds_bos());
  EXPECT_FALSE(tokenizer_of(case_vocabulary().builder().boolean("tokenizer.ggml.add_bos_token", false))->adds_bos());
  const auto with_eos = tokenizer_of(case_vocabulary().builder().boolean("tokenizer.ggml.add_eos_token", true));
  EXPECT_EQ(Ids(with_eos->prefix_ids().begin(), with_eos->prefix_ids().end()), (Ids{1}));
  EXPECT_EQ(Ids(with_eos->suffix_ids().begin(), with_eos->suffix_ids().end()), (Ids{2}));
}

TEST(SentencePiece, TakesTheLeftmostOfEqualScores) {
  SentencePieceFile file;
  file.adds_blank = false;
  file.add("a", -5);
  const int32_t pair = file.add("aa", -1);
  const int32_t ba = file.add("ba", -1);
  file.add("b", -5);
  const auto tokenizer = tokenizer_of(file.builder());
  EXPECT_EQ(encode(*tokenizer, "aaa"), (Ids{pair, 259}));
  EXPECT_EQ(encode(*tokenizer, "baa"), (Ids{ba, 259}));
}

TEST(SentencePiece, SpellsWhatItHasNoBytesForAsOneUnknownToken) {
  SentencePieceFile file;
  file.types[3 + 0xC3] = kUnusedType;
  file.adds_blank = false;
  file.add("a", -1);
  EXPECT_EQ(encode(*tokenizer_of(file.builder()), "aéèa"), (Ids{259, 0, 259}));
}

TEST(SentencePiece, NeverMakesASpecialTokenOfText) {
  SentencePieceFile file;
  file.adds_blank = false;
  for (const std::string_view part : {"<", "s", ">", "<s"}) file.add(part, -1);
  const auto tokenizer = tokenizer_of(file.builder());
  EXPECT_EQ(encode(*tokenizer, "<s>"), (Ids{262, 261}));
  EXPECT_EQ(encode(*tokenizer, "<s>", SpecialTokens::kParse), (Ids{1}));
  EXPECT_EQ(encode(*tokenizer, "<0x41>", SpecialTokens::kParse).size(), 6U);
}

TEST(SentencePiece, LetsPhi3sTokensTakeTheLineEnd) {
  SentencePieceFile file;
  const int32_t user = file.add("<|user|>", 0, kControl);
  const auto plain = tokenizer_of(file.builder());
  const auto phi3 = tokenizer_of(file.builder().string("general.architecture", "phi3"));
  EXPECT_EQ(encode(*plain, "<|user|>\nA", SpecialTokens::kParse), (Ids{user, 3 + '\n', 3 + 'A'}));
  EXPECT_EQ(encode(*phi3, "<|user|>\nA", SpecialTokens::kParse), (Ids{user, 3 + 'A'}));
  EXPECT_EQ(encode(*phi3, "<s>\nA", SpecialTokens::kParse), (Ids{1, 3 + '\n', 3 + 'A'}));
}

TEST(SentencePiece, TakesTimeInProportionToAWordWithoutEnd) {
  const auto tokenizer = tokenizer_of(case_vocabulary().builder());
  const auto seconds = [&](const std::string& text) {
    const double begin = processor_seconds();
    EXPECT_FALSE(encode(*tokenizer, text).empty());
    return processor_seconds() - begin;
  };
  for (const std::string_view unit : {"h", " ", "hi", " h", "é", "\n"}) {
    const double small = seconds(repeated(unit, 20'000));
    const double large = seconds(repeated(unit, 200'000));
    EXPECT_LT(large, 40 * small + 0.05) << unit;
    EXPECT_LT(large, 60) << unit;
  }
}

void expect_refused(const SentencePieceFile& file, std::string_view reason) {
  const Result<std::unique_ptr<Tokenizer>> tokenizer = open_tokenizer(file.builder());
  ASSERT_FALSE(tokenizer.ok()) << "expected: " << reason;
  EXPECT_THAT(tokenizer.status().message(), HasSubstr(reason));
}

TEST(SentencePiece, RefusesScoresAndBytesThatContradictTheTokens) {
  SentencePieceFile file = case_vocabulary();
  file.scores.pop_back();
  expect_refused(file, "tokenizer.ggml.scores has 265 elements for 266 tokens");
  file = case_vocabulary();
  file.scores[260] = std::numeric_limits<float>::quiet_NaN();
  expect_refused(file, "tokenizer.ggml.scores has a score that is not finite");
  file = case_vocabulary();
  file.tokens[7] = "<0x4>";
  expect_refused(file, "tokens[7] \"<0x4>\" is of the type byte");
  file = case_vocabulary();
  file.add(std::string(1024, 'h'), 0);
  EXPECT_TRUE(open_tokenizer(file.builder()).ok());
  file.add(std::string(1025, 'h'), 0);
  expect_refused(file, "is longer than 1024 bytes");
}

}  // namespace
}  // namespace sluice::engine
