#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/checkpoint.h"
#include "engine/detokenizer.h"
#include "tests/engine/tokenizer_fixture.h"

// The small checkpoints' tokenizers and chat templates once they have gone through a GGUF file.

namespace sluice::engine {
namespace {

using Ids = std::vector<int32_t>;

class TinyGgufTokenizer : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    auto checkpoint = Checkpoint::open(SLUICE_TINY "/" + GetParam() + ".gguf");
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    checkpoint_ = std::move(checkpoint).value();
    std::ifstream file(SLUICE_SOURCE_DIR "/tests/data/tiny/" + GetParam() + "/tokenizer_expected.json");
    expected_ = nlohmann::json::parse(file);
  }

  std::unique_ptr<Checkpoint> checkpoint_;
  nlohmann::json expected_;
};

TEST_P(TinyGgufTokenizer, GivesTheReferenceIdsAndTexts) {
  const Result<std::unique_ptr<Tokenizer>> tokenizer = checkpoint_->tokenizer();
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  ASSERT_FALSE(expected_.at("encode").empty());
  // Their tokenizer.json puts a blank before a text unless it begins with one; of that GGUF has no way to tell, and its
  // readers, like SentencePiece, always put one.
  const bool is_metaspace = GetParam() == "mistral-window" || GetParam() == "mixtral";
  for (const nlohmann::json& entry : expected_.at("encode")) {
    if (is_metaspace && entry.at("text").get<std::string>().starts_with(" ")) continue;
    const Ids ids = encode(**tokenizer, entry.at("text").get<std::string>(), SpecialTokens::kParse);
    EXPECT_EQ(ids, entry.at("ids").get<Ids>()) << entry.at("text");
    Ids with_special((*tokenizer)->prefix_ids().begin(), (*tokenizer)->prefix_ids().end());
    with_special.insert(with_special.end(), ids.begin(), ids.end());
    EXPECT_EQ(with_special, entry.at("ids_with_special").get<Ids>()) << entry.at("text");
    Detokenizer detokenizer(**tokenizer, TextExtent::kWhole);
    std::string text;
    for (const int32_t id : ids) text += detokenizer.push_with_name(id);
    EXPECT_EQ(text + detokenizer.flush(), entry.at("decoded").get<std::string>());
  }
}

TEST_P(TinyGgufTokenizer, RendersTheReferenceChats) {
  const Result<ChatTemplate> chat_template = checkpoint_->chat_template();
  ASSERT_TRUE(chat_template.ok()) << chat_template.status();
  ASSERT_FALSE(expected_.at("chat").empty());
  for (const nlohmann::json& entry : expected_.at("chat")) {
    ChatPrompt prompt;
    prompt.messages_json = entry.at("messages").dump();
    const Result<std::vector<TextRun>> runs = chat_template->render(prompt);
    ASSERT_EQ(runs.ok(), !entry.contains("error")) << runs.status();
    if (!runs.ok()) continue;
    std::string text;
    for (const TextRun& run : *runs) text += run.text;
    EXPECT_EQ(text, entry.at("text").get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(All, TinyGgufTokenizer,
                         ::testing::Values("gemma3", "llama", "llama3-rope", "mistral-window", "mixtral", "qwen2",
                                           "qwen3", "qwen3-moe"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice::engine
