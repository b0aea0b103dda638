#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf_pretokenizers.h"
#include "tests/engine/tokenizer_data.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using Pieces = std::vector<std::string>;

Pretokenizer pretokenizer_named(std::string_view name) {
  Result<GgufPretokenizer> made = gguf_pretokenizer(name);
  EXPECT_TRUE(made.ok()) << made.status();
  return Pretokenizer(std::move(made->stages));
}

Pieces split(std::string_view name, std::string_view text) {
  Pieces pieces;
  const Status status =
      pretokenizer_named(name).split(text, true, [&](std::string_view piece) { pieces.emplace_back(piece); });
  EXPECT_TRUE(status.ok()) << status;
  return pieces;
}

TEST(Pretokenizer, RefusesAnUnknownNameWithTheNamesThatWork) {
  for (const std::string_view name : {"", "gpt2", "Qwen2", "qwen2 ", "viking"}) {
    const Result<GgufPretokenizer> created = gguf_pretokenizer(name);
    ASSERT_FALSE(created.ok()) << name;
    EXPECT_EQ(created.status().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(created.status().message(), HasSubstr("supported pre-tokenizers falcon, default, gpt-2, "));
  }
}

TEST(Pretokenizer, GivesNothingForNothing) {
  for (const std::string_view name : {"smollm", "gpt-2", "qwen2", "llama-bpe"}) EXPECT_EQ(split(name, ""), Pieces{});
}

TEST(Pretokenizer, SmollmLooksAheadOnlyToTheNextDigit) {
  EXPECT_EQ(split("smollm", "   42"), (Pieces{"   ", "4", "2"}));
  EXPECT_EQ(split("gpt-2", "   42"), (Pieces{"  ", " 42"}));
}

TEST(Pretokenizer, AliasesGiveTheSamePieces) {
  const std::string text = "I'LL pay 12345 in 2024\r\n\r\n  x  ";
  EXPECT_EQ(split("llama3", text), split("llama-bpe", text));
  EXPECT_EQ(split("llama-v3", text), split("llama-bpe", text));
}

TEST(B06_Pretokenizer, P1_ContractionsNumbersAndLineEnds) {
  const std::string text = "I'LL pay 12345 in 2024\r\n\r\n  x  ";
  EXPECT_EQ(split("qwen2", text), (Pieces{"I", "'LL", " pay", " ", "1", "2", "3", "4", "5", " in", " ", "2", "0", "2",
                                          "4", "\r\n\r\n", " ", " x", "  "}));
  EXPECT_EQ(split("llama-bpe", text),
            (Pieces{"I", "'LL", " pay", " ", "123", "45", " in", " ", "202", "4", "\r\n\r\n", " ", " x", "  "}));
}

TEST(B06_Pretokenizer, P2_P3_P6_P7_P8_AreTheSameForBoth) {
  const std::vector<std::pair<std::string, Pieces>> cases = {
      {"->!=\n\n\ny", {"->!=\n\n\n", "y"}}, {"\t\tif", {"\t", "\tif"}},   {"\u00A0\u00A0a", {"\u00A0", "\u00A0a"}},
      {"a\u0301b", {"a", "\u0301b"}},       {"foo_bar", {"foo", "_bar"}},
  };
  for (const auto& [text, pieces] : cases) {
    EXPECT_EQ(split("qwen2", text), pieces);
    EXPECT_EQ(split("llama-bpe", text), pieces);
  }
}

TEST(B06_Pretokenizer, P4_DigitsOfOtherScripts) {
  EXPECT_EQ(split("qwen2", "٣٤٥٦"), (Pieces{"٣", "٤", "٥", "٦"}));
  EXPECT_EQ(split("llama-bpe", "٣٤٥٦"), (Pieces{"٣٤٥", "٦"}));
}

TEST(B06_Pretokenizer, P5_NumbersWithMarks) {
  EXPECT_EQ(split("qwen2", "1,000.5"), (Pieces{"1", ",", "0", "0", "0", ".", "5"}));
  EXPECT_EQ(split("llama-bpe", "1,000.5"), (Pieces{"1", ",", "000", ".", "5"}));
}

// pieces.json: random texts of many scripts, blanks and marks, cut by Hugging Face tokenizers 0.23.3 with the models'
// patterns.
TEST(Pretokenizer, CutsLikeTheModelsOwnTokenizers) {
  const nlohmann::json cases = read_tokenizer_data("pieces.json");
  ASSERT_EQ(cases.size(), 200U);
  for (const auto& entry : cases) {
    const auto text = entry.at("text").get<std::string>();
    for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2"}) {
      EXPECT_EQ(split(name, text), entry.at(name).get<Pieces>()) << name << " on " << entry.at("text");
    }
  }
}

double seconds_to_split(const Pretokenizer& pretokenizer, const std::string& text) {
  const double begin = processor_seconds();
  size_t bytes = 0;
  const Status status = pretokenizer.split(text, true, [&](std::string_view piece) { bytes += piece.size(); });
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(bytes, text.size());
  return processor_seconds() - begin;
}

TEST(B07_Pretokenizer, PatternsTakeLinearTimeOnLongRuns) {
  for (const std::string_view name : {"smollm", "gpt-2", "qwen2", "llama-bpe", "default", "deepseek-llm",
                                      "deepseek-coder", "deepseek-v3", "tekken", "gpt-4o"}) {
    const Pretokenizer pretokenizer = pretokenizer_named(name);
    // The last four run into a look-ahead or an alternative that fails only at the very end of the run.
    for (const std::string_view unit : {"A", " ", ".", "\n", "1", "中", "\u00A0", "' ", " \n", "\u3000 "}) {
      const double small = seconds_to_split(pretokenizer, repeated(unit, 20'000) + "x");
      const double large = seconds_to_split(pretokenizer, repeated(unit, 200'000) + "x");
      // Ten times the text; a pattern that looks back over its run takes a hundred times as long.
      EXPECT_LT(large, 40 * small + 0.05) << name << " on " << unit;
    }
  }
}

}  // namespace
}  // namespace sluice::engine
