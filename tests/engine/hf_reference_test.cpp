// Tokenizers of Hugging Face folders against the ids and texts that Hugging Face's own libraries give.

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/bpe_tokenizer.h"
#include "engine/chat_template.h"
#include "engine/hf_tokenizer.h"
#include "tests/engine/tokenizer_data.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using Ids = std::vector<int32_t>;

nlohmann::json read_json(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path << " is missing";
  return nlohmann::json::parse(in);
}

/// huggingface.json is made by scripts/expect_tokenizers.py, which makes others, too.
nlohmann::json read_kinds() {
  const char* const path = std::getenv("SLUICE_TOKENIZER_CASES");
  return path == nullptr ? read_tokenizer_data("huggingface.json") : read_json(path);
}

std::string decode_whole(const Tokenizer& tokenizer, const Ids& ids) {
  Detokenizer detokenizer(tokenizer, TextExtent::kWhole);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.push_with_name(id);
  return text + detokenizer.flush();
}

Ids with_template(const Tokenizer& tokenizer, Ids ids) {
  ids.insert(ids.begin(), tokenizer.prefix_ids().begin(), tokenizer.prefix_ids().end());
  ids.insert(ids.end(), tokenizer.suffix_ids().begin(), tokenizer.suffix_ids().end());
  return ids;
}

TEST(HfTokenizer, DoesWhatTokenizersDoWithDocumentsOfAllKinds) {
  for (const nlohmann::json& kind : read_kinds()) {
    SCOPED_TRACE(kind.at("name").get<std::string>());
    Result<TokenizerSpec> spec = hf_tokenizer_spec(kind.at("tokenizer"), {}, "tokenizer.json");
    ASSERT_TRUE(spec.ok()) << spec.status();
    const BpeTokenizer tokenizer(*std::move(spec));
    for (const nlohmann::json& entry : kind.at("cases")) {
      const auto text = entry.at("text").get<std::string>();
      const Ids ids = encode(tokenizer, text, SpecialTokens::kParse);
      EXPECT_EQ(ids, entry.at("ids").get<Ids>()) << entry.at("text");
      EXPECT_EQ(with_template(tokenizer, ids), entry.at("all").get<Ids>()) << entry.at("text");
      EXPECT_EQ(decode_whole(tokenizer, entry.at("ids").get<Ids>()), entry.at("decoded").get<std::string>());
    }
  }
}

class TinyTokenizer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    Result<std::unique_ptr<Tokenizer>> opened = Tokenizer::from_folder(folder_);
    ASSERT_TRUE(opened.ok()) << opened.status();
    tokenizer_ = *std::move(opened);
  }

  const std::string folder_ = SLUICE_SOURCE_DIR "/tests/data/tiny/" + GetParam();
  const nlohmann::json expected_ = read_json(folder_ + "/tokenizer_expected.json");
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_P(TinyTokenizer, GivesTheReferenceIdsAndTexts) {
  EXPECT_EQ(tokenizer_->vocab_size(), expected_.at("vocab").get<int32_t>());
  ASSERT_FALSE(expected_.at("encode").empty());
  for (const nlohmann::json& entry : expected_.at("encode")) {
    const Ids ids = encode(*tokenizer_, entry.at("text").get<std::string>(), SpecialTokens::kParse);
    EXPECT_EQ(ids, entry.at("ids").get<Ids>()) << entry.at("text");
    EXPECT_EQ(with_template(*tokenizer_, ids), entry.at("ids_with_special").get<Ids>()) << entry.at("text");
    EXPECT_EQ(decode_whole(*tokenizer_, ids), entry.at("decoded").get<std::string>());
  }
}

TEST_P(TinyTokenizer, RendersTheReferenceChats) {
  const Result<ChatTemplate> chat_template = ChatTemplate::from_folder(folder_);
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  ASSERT_FALSE(expected_.at("chat").empty());
  for (const nlohmann::json& entry : expected_.at("chat")) {
    ChatPrompt prompt;
    prompt.messages_json = entry.at("messages").dump();
    const Result<std::vector<TextRun>> runs = chat_template->render(prompt);
    if (entry.contains("error")) {
      ASSERT_FALSE(runs.ok());
      EXPECT_NE(runs.status().message().find(entry.at("error").get<std::string>()), std::string::npos) << runs.status();
      continue;
    }
    ASSERT_TRUE(runs.ok()) << runs.status();
    std::string text;
    for (const TextRun& run : *runs) text += run.text;
    EXPECT_EQ(text, entry.at("text").get<std::string>());
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, TinyTokenizer,
                         ::testing::Values("llama", "llama3-rope", "qwen2", "qwen3", "mistral-window", "gemma3",
                                           "mixtral", "qwen3-moe"),
                         test_name);

}  // namespace
}  // namespace sluice::engine
