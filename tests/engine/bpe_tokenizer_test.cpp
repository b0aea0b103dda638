#include "engine/bpe_tokenizer.h"

#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

void expect_refused(const GgufBuilder& builder, std::string_view reason) {
  const TemporaryFile file(builder.build());
  const Result<std::unique_ptr<Tokenizer>> tokenizer = open_tokenizer(file.path());
  ASSERT_FALSE(tokenizer.ok()) << "expected: " << reason;
  EXPECT_EQ(tokenizer.status().code(), StatusCode::kInvalidArgument);
  const std::string message = tokenizer.status().message();
  EXPECT_THAT(message, HasSubstr(reason));
  EXPECT_THAT(message, HasSubstr(file.path()));
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

void expect_refused(const std::function<void(VocabularyFile&)>& break_it, std::string_view reason) {
  VocabularyFile vocabulary("gpt-2");
  vocabulary.merge("a", "b");
  break_it(vocabulary);
  expect_refused(vocabulary.builder(), reason);
}

TEST(TokenizerFromGguf, RefusesAnotherModelByName) {
  expect_refused([](VocabularyFile& v) { v.model = "bert"; }, "tokenizer.ggml.model is \"bert\"");
}

TEST(TokenizerFromGguf, RefusesAnUnknownPretokenizerByName) {
  expect_refused([](VocabularyFile& v) { v.pre = "tekken\n"; }, "tokenizer.ggml.pre is \"tekken?\"");
  expect_refused([](VocabularyFile& v) { v.pre = "viking"; }, "falcon, default, gpt-2");
}

TEST(TokenizerFromGguf, RefusesAFileWithoutATokenizer) {
  expect_refused(GgufBuilder().string("general.architecture", "llama"), "tokenizer.ggml.model");
  expect_refused(GgufBuilder().string("tokenizer.ggml.model", "gpt2"), "tokenizer.ggml.pre");
  GgufBuilder no_tokens;
  no_tokens.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
  expect_refused(no_tokens, "tokenizer.ggml.tokens is missing");
  no_tokens.strings("tokenizer.ggml.tokens", {"a"});
  expect_refused(no_tokens, "tokenizer.ggml.merges is missing");
}

TEST(TokenizerFromGguf, RefusesAnEmptyVocabulary) {
  GgufBuilder empty;
  empty.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
  expect_refused(empty.strings("tokenizer.ggml.tokens", {}), "tokenizer.ggml.tokens is empty");
}

TEST(TokenizerFromGguf, RefusesArraysOfTheWrongType) {
  GgufBuilder file;
  file.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "gpt-2");
  expect_refused(file.u32("tokenizer.ggml.tokens", 3), "tokenizer.ggml.tokens is not an array of strings");
}

TEST(TokenizerFromGguf, RefusesTypesThatDontFitTheTokens) {
  expect_refused([](VocabularyFile& v) { v.types.pop_back(); }, "has 256 elements for 257 tokens");
  expect_refused([](VocabularyFile& v) { v.types[7] = 7; }, "unknown type 7");
  expect_refused([](VocabularyFile& v) { v.types[7] = 0; }, "unknown type 0");
  expect_refused([](VocabularyFile& v) { v.types[7] = -1; }, "unknown type -1");
}

TEST(TokenizerFromGguf, RefusesBadTokenNames) {
  expect_refused([](VocabularyFile& v) { v.add("", kControl); }, "tokens[257] \"\" is empty");
  expect_refused([](VocabularyFile& v) { v.add("", kNormal); }, "tokens[257] \"\" is empty");
  expect_refused([](VocabularyFile& v) { v.add("\xFFx", kNormal); }, "is not UTF-8");
  expect_refused([](VocabularyFile& v) { v.add("ab", kNormal); }, "tokens[257] \"ab\" is there twice");
}

TEST(TokenizerFromGguf, RefusesMergesThatLeadNowhere) {
  const auto with_merge = [](std::string_view merge, std::string_view reason) {
    expect_refused([&](VocabularyFile& v) { v.merges.emplace_back(merge); }, reason);
  };
  with_merge("ab", "merges[1] \"ab\" is not two tokens");
  with_merge("a b c", "is not two tokens");
  with_merge("", "is not two tokens");
  with_merge(" ab", "which is no token");
  with_merge("a ", "which is no token");
  with_merge("a zz", "names \"zz\", which is no token");
  with_merge("a c", "names \"ac\", which is no token");
  with_merge("a b", "merges[1] \"a b\" is there twice");
}

TEST(TokenizerFromGguf, LeavesOutAMergeThatWouldMakeASpecialTokenFromText) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t special = vocabulary.add("<s", kControl);
  vocabulary.merges.emplace_back("< s");
  const auto tokenizer = tokenizer_of(vocabulary);
  EXPECT_EQ(encode(*tokenizer, "<s"), (Ids{'<', 's'}));
  EXPECT_EQ(encode(*tokenizer, "<s", SpecialTokens::kParse), (Ids{special}));
}

TEST(TokenizerFromGguf, RefusesIdsOutsideTheVocabulary) {
  for (const std::string key : {"bos", "eos", "eot", "eom"}) {
    const std::string name = "tokenizer.ggml." + key + "_token_id";
    const VocabularyFile vocabulary("gpt-2");
    expect_refused(vocabulary.builder().u32(name, 256), name + " is 256, outside the 256 tokens");
    expect_refused(vocabulary.builder().u32(name, 0xFFFFFFFF), name + " is 4294967295");
    expect_refused(vocabulary.builder().metadata(name, 5, ByteWriter().number(int32_t{-1})), name + " is -1");
    expect_refused(vocabulary.builder().string(name, "1"), name);
    EXPECT_NE(tokenizer_of(vocabulary.builder().u32(name, 255)), nullptr);
  }
}

TEST(TokenizerFromGguf, RefusesToAddABosThatIsntThere) {
  const VocabularyFile vocabulary("gpt-2");
  expect_refused(vocabulary.builder().boolean("tokenizer.ggml.add_bos_token", true), "there is no");
  expect_refused(vocabulary.builder().u32("tokenizer.ggml.add_bos_token", 1), "tokenizer.ggml.add_bos_token");
}

TEST(TokenizerFromGguf, AddsBosAsTheFileSaysOrElseAsTheModelDoes) {
  const auto adds_bos = [](std::string_view pre, std::optional<bool> says, bool has_bos = true) {
    GgufBuilder builder = VocabularyFile(pre).builder();
    if (has_bos) builder.u32("tokenizer.ggml.bos_token_id", 1);
    if (says) builder.boolean("tokenizer.ggml.add_bos_token", *says);
    return tokenizer_of(builder)->adds_bos();
  };
  EXPECT_FALSE(adds_bos("smollm", std::nullopt));
  EXPECT_TRUE(adds_bos("smollm", true));
  EXPECT_TRUE(adds_bos("llama-bpe", std::nullopt));
  EXPECT_FALSE(adds_bos("llama-bpe", false));
  EXPECT_FALSE(adds_bos("llama-bpe", std::nullopt, /*has_bos=*/false));
}

TEST(TokenizerFromGguf, FindsTheTokensThatEndAGeneration) {
  VocabularyFile vocabulary("qwen2");
  const int32_t text_end = vocabulary.add("<|endoftext|>", kControl);
  vocabulary.add("<|im_start|>", kControl);
  const int32_t turn_end = vocabulary.add("<|im_end|>", kControl);
  vocabulary.add("<|eot_id|>", kUserDefined);
  const int32_t message_end = vocabulary.add("<done>", kNormal);
  const auto tokenizer = tokenizer_of(vocabulary.builder()
                                          .u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(turn_end))
                                          .u32("tokenizer.ggml.eom_token_id", static_cast<uint32_t>(message_end)));
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(Ids(tokenizer->end_ids().begin(), tokenizer->end_ids().end()), (Ids{text_end, turn_end, message_end}));
  EXPECT_TRUE(tokenizer->is_special(message_end));
  EXPECT_EQ(tokenizer->bos_id(), std::nullopt);
}

TEST(TokenizerFromGguf, ReadsTheVocabularyOfTheTinyModels) {
  for (const std::string_view name : {"T_base", "T_bias", "T_theta", "T_untied"}) {
    const Result<std::unique_ptr<Tokenizer>> opened = open_tokenizer(gguf_test_file(name));
    ASSERT_TRUE(opened.ok()) << opened.status();
    const Tokenizer& tokenizer = **opened;
    const std::string prompt = "The quick brown fox";
    EXPECT_EQ(encode(tokenizer, prompt), Ids(prompt.begin(), prompt.end()));
    EXPECT_EQ(encode(tokenizer, "cab<|end|>", SpecialTokens::kParse), (Ids{'c', 258, 256}));
    EXPECT_EQ(Ids(tokenizer.end_ids().begin(), tokenizer.end_ids().end()), (Ids{256}));
    EXPECT_EQ(tokenizer.vocab_size(), 260);
    EXPECT_FALSE(tokenizer.adds_bos());
  }
}

TEST(BpeTokenizerDeathTest, TakesAnIdOutsideTheVocabularyForABug) {
  const auto tokenizer = tokenizer_of(VocabularyFile("gpt-2"));
  EXPECT_DEATH(static_cast<void>(tokenizer->token_bytes(256)), "broken invariant");
  EXPECT_DEATH(static_cast<void>(tokenizer->token_bytes(-1)), "broken invariant");
}

TEST(BpeTokenizer, RefusesTextThatIsNotUtf8) {
  const auto tokenizer = tokenizer_of(VocabularyFile("gpt-2"));
  for (const std::string_view text : {"\xFF\xFE", "a\xC3", "\xED\xA0\x80", "\xC3("}) {
    for (const SpecialTokens special : {SpecialTokens::kAsText, SpecialTokens::kParse}) {
      const Result<Ids> ids = tokenizer->encode(text, special);
      ASSERT_FALSE(ids.ok());
      EXPECT_EQ(ids.status().code(), StatusCode::kInvalidArgument);
    }
  }
}

TEST(BpeTokenizer, MergesLowestRankFirstAndLeftmostAmongEquals) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t bc = vocabulary.merge("b", "c");
  const int32_t ab = vocabulary.merge("a", "b");
  const int32_t aa = vocabulary.merge("a", "a");
  const int32_t abc = vocabulary.merge("a", "bc");
  const auto tokenizer = tokenizer_of(vocabulary);
  EXPECT_EQ(encode(*tokenizer, "abc"), (Ids{abc}));
  EXPECT_EQ(encode(*tokenizer, "abab"), (Ids{ab, ab}));
  EXPECT_EQ(encode(*tokenizer, "aaa"), (Ids{aa, 'a'}));
  EXPECT_EQ(encode(*tokenizer, "cbc"), (Ids{'c', bc}));
  EXPECT_EQ(encode(*tokenizer, "ca bc"), (Ids{'c', 'a', ' ', bc}));
}

TEST(BpeTokenizer, TakesWholeWordsAsTheyAreOnlyForLlama3) {
  const auto ids = [](std::string_view pre) {
    VocabularyFile vocabulary(pre);
    vocabulary.add("xyz", kNormal);
    return encode(*tokenizer_of(vocabulary), "xyz");
  };
  EXPECT_EQ(ids("llama-bpe"), (Ids{256}));
  EXPECT_EQ(ids("qwen2"), (Ids{'x', 'y', 'z'}));
}

TEST(BpeTokenizer, FindsUserDefinedTokensInAnyTextAndSpecialOnesOnlyWhenAsked) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t added = vocabulary.add("<tool>", kUserDefined);
  const int32_t control = vocabulary.add("<end>", kControl);
  const int32_t unknown = vocabulary.add("<unk>", kUnknown);
  vocabulary.add("<pad>", kUnusedType);
  const auto tokenizer = tokenizer_of(vocabulary);
  EXPECT_EQ(encode(*tokenizer, "<tool><end>"), (Ids{added, '<', 'e', 'n', 'd', '>'}));
  EXPECT_EQ(encode(*tokenizer, "a<tool><end><unk>b", SpecialTokens::kParse), (Ids{'a', added, control, unknown, 'b'}));
  EXPECT_EQ(encode(*tokenizer, "<pad>", SpecialTokens::kParse), (Ids{'<', 'p', 'a', 'd', '>'}));
}

TEST(BpeTokenizer, TakesTheLongestNameAtTheFirstPlace) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t short_name = vocabulary.add("<a>", kControl);
  const int32_t long_name = vocabulary.add("<a>b", kControl);
  const int32_t inner = vocabulary.add("b<", kControl);
  const auto tokenizer = tokenizer_of(vocabulary);
  EXPECT_EQ(encode(*tokenizer, "<a>b<a>", SpecialTokens::kParse), (Ids{long_name, short_name}));
  EXPECT_EQ(encode(*tokenizer, "b<a>b", SpecialTokens::kParse), (Ids{inner, 'a', '>', 'b'}));
  EXPECT_EQ(encode(*tokenizer, "<a", SpecialTokens::kParse), (Ids{'<', 'a'}));
}

TEST(BpeTokenizer, KeepsPiecesBesideANameApart) {
  VocabularyFile vocabulary("gpt-2");
  vocabulary.merge("a", "b");
  const int32_t control = vocabulary.add("|", kUserDefined);
  const auto tokenizer = tokenizer_of([&] {
    vocabulary.tokens['|'] = "bar";  // the byte gives way to the added token of the same name
    return vocabulary;
  }());
  EXPECT_EQ(encode(*tokenizer, "a|b"), (Ids{'a', control, 'b'}));
}

TEST(BpeTokenizer, ReadsAWordThatSpellsNoBytesAsItsName) {
  VocabularyFile vocabulary("gpt-2");
  const int32_t id = vocabulary.add("中", kNormal);
  const auto tokenizer = tokenizer_of(vocabulary);
  EXPECT_EQ(tokenizer->token_bytes(id), "中");
  EXPECT_EQ(encode(*tokenizer, "中"), (Ids{0xE4, 0xB8, 0xAD}));
}

/// Names of 300 tokens that begin alike, as Llama 3's reserved ones do.
TEST(BpeTokenizer, TellsHundredsOfNamesApart) {
  VocabularyFile vocabulary("llama-bpe");
  for (int i = 0; i < 300; ++i) vocabulary.add("<|reserved_" + std::to_string(i) + "|>", kControl);
  const auto tokenizer = tokenizer_of(vocabulary);
  std::string text;
  Ids ids;
  for (int i = 0; i < 300; ++i) {
    text += "<|reserved_" + std::to_string(i) + "|>";
    ids.push_back(256 + i);
  }
  EXPECT_EQ(encode(*tokenizer, text, SpecialTokens::kParse), ids);
}

TEST(BpeTokenizer, GivesManyThreadsTheSameIds) {
  VocabularyFile vocabulary("smollm");
  vocabulary.merge("a", "b");
  vocabulary.merge("ab", "c");
  const auto tokenizer = tokenizer_of(vocabulary);
  const std::string text = repeated("abc ab 12 x", 200);
  const Ids expected = encode(*tokenizer, text);
  std::vector<Ids> results(4);
  std::vector<std::jthread> threads;
  for (Ids& result : results) threads.emplace_back([&] { result = encode(*tokenizer, text); });
  threads.clear();
  for (const Ids& result : results) EXPECT_EQ(result, expected);
}

}  // namespace
}  // namespace sluice::engine
