#include "offline/tokenize.h"

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::offline {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

/// A model whose ids are the bytes of the text, but for 256 `<|end|>` and 258 `ab`.
TokenizeOptions tiny_model() {
  return {.model_path = SLUICE_SOURCE_DIR "/tests/data/gguf/T_base.gguf"};
}

struct Answer {
  Status status;
  std::string lines;
};

Answer tokenize_lines(const TokenizeOptions& options, const std::string& lines) {
  std::istringstream in(lines);
  std::ostringstream out;
  Status status = tokenize_jsonl(options, in, out);
  return {std::move(status), out.str()};
}

TEST(OfflineTokenize, SaysThatAModelIsMissing) {
  const TokenizeOptions options{.model_path = "/nonexistent/model.gguf"};
  EXPECT_EQ(tokenize_text(options, "a").status().code(), StatusCode::kNotFound);
  EXPECT_EQ(tokenize_lines(options, "").status.code(), StatusCode::kNotFound);
}

TEST(OfflineTokenize, RefusesTextThatIsNotUtf8) {
  EXPECT_EQ(tokenize_text(tiny_model(), "\xFF").status().code(), StatusCode::kInvalidArgument);
}

TEST(OfflineTokenize, GivesTheIdsOfAText) {
  const Result<Ids> ids = tokenize_text(tiny_model(), "cab");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_EQ(*ids, (Ids{'c', 258}));
}

TEST(OfflineTokenize, ParsesNamesOfSpecialTokensOnlyWhenAsked) {
  TokenizeOptions options = tiny_model();
  EXPECT_EQ(tokenize_text(options, "<|end|>")->size(), 7U);
  options.parse_special = true;
  EXPECT_EQ(*tokenize_text(options, "<|end|>"), (Ids{256}));
}

TEST(OfflineTokenize, AddsBosOnlyWhereTheModelDoes) {
  TokenizeOptions options = tiny_model();
  options.add_bos = true;
  EXPECT_EQ(*tokenize_text(options, "a"), (Ids{'a'}));
}

/// A folder whose prompts begin with bos, id 1, and whose texts begin with a blank that is dropped again.
std::string tiny_folder() {
  return SLUICE_SOURCE_DIR "/tests/data/tiny/mistral-window";
}

TEST(OfflineTokenize, ReadsAFolderToo) {
  TokenizeOptions options{.model_path = tiny_folder()};
  EXPECT_EQ(*tokenize_text(options, "a"), (Ids{283, 264}));
  options.add_bos = true;
  EXPECT_EQ(*tokenize_text(options, "a"), (Ids{1, 283, 264}));
  options.model_path = SLUICE_SOURCE_DIR "/tests/data";
  EXPECT_THAT(tokenize_text(options, "a").status().message(), HasSubstr("tests/data/tokenizer.json"));
}

TEST(OfflineTokenize, KnowsTheTokensOfSyntheticModels) {
  TokenizeOptions options{.model_path = "synthetic:llama-3.1-70b"};
  EXPECT_EQ(*tokenize_text(options, "Hi"), (Ids{'H', 'i'}));
  options.add_bos = true;
  EXPECT_EQ(*tokenize_text(options, "Hi"), (Ids{256, 'H', 'i'}));
  EXPECT_EQ(*detokenize_ids("synthetic:tiny", {256, 'H', 'i', 258, 257}, false), "Hi a");
  options.model_path = "synthetic:nothing";
  EXPECT_THAT(tokenize_text(options, "a").status().message(), HasSubstr("there is no preset nothing; there are "));
}

TEST(OfflineTokenize, GivesTheTextOfIdsBack) {
  EXPECT_EQ(*detokenize_ids(tiny_folder(), {1, 283, 264, 283, 264}, false), "a a");
  EXPECT_EQ(*detokenize_ids(tiny_folder(), {1, 283, 264}, true), "<s> a");
  EXPECT_EQ(*detokenize_ids(tiny_model().model_path, {'c', 258, 256}, false), "cab");
  for (const int32_t id : {-1, 320}) {
    EXPECT_THAT(detokenize_ids(tiny_folder(), {1, id}, false).status().message(),
                HasSubstr("id " + std::to_string(id) + " is not a token of the vocabulary, 0 to 319"));
  }
  EXPECT_EQ(detokenize_ids("/nonexistent/model.gguf", {1}, false).status().code(), StatusCode::kNotFound);
}

TEST(OfflineTokenize, NamesTheLineThatIsBad) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{\"text\":", "line 3: not JSON"},
      {"{\"text\":\"\xFF\"}", "line 3: not JSON"},
      {std::string(100'000, '['), "line 3: not JSON"},
      {"[1]", "line 3: not a JSON object"},
      {"{\"txt\":\"a\"}", "line 3: no member \"text\""},
      {"{\"text\":7}", "line 3: \"text\" is not a string"},
      {"{\"text\":null}", "line 3: \"text\" is not a string"},
  };
  for (const auto& [line, message] : cases) {
    const Answer answer = tokenize_lines(tiny_model(), "{\"text\":\"a\"}\n\n" + line + "\n{\"text\":\"b\"}\n");
    EXPECT_EQ(answer.status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(answer.status.message(), message);
    EXPECT_EQ(answer.lines, "{\"ids\":[97]}\n");
  }
}

TEST(OfflineTokenize, AnswersEachLineInOrder) {
  const Answer answer =
      tokenize_lines(tiny_model(), "{\"text\":\"ab\",\"more\":1}\r\n \n{\"text\":\"\"}\n{\"text\":\"\\u00e9\"}");
  EXPECT_TRUE(answer.status.ok()) << answer.status;
  EXPECT_EQ(answer.lines, "{\"ids\":[258]}\n{\"ids\":[]}\n{\"ids\":[195,169]}\n");
}

TEST(OfflineTokenize, SaysThatItsAnswerCantBeWritten) {
  std::istringstream in("{\"text\":\"a\"}\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_THAT(tokenize_jsonl(tiny_model(), in, out).message(), HasSubstr("writing"));
}

}  // namespace
}  // namespace sluice::offline
