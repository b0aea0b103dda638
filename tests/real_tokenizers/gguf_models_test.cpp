// Tokenizers and chat templates in the GGUF files of real models.

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/chat_template.h"
#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "offline/render.h"
#include "offline/tokenize.h"
#include "tests/engine/tokenizer_data.h"
#include "tests/real_tokenizers/model_file.h"

namespace sluice::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

TEST(Gemma3, GivesTheReferenceIdsExactly) {
  const Result<GgufFile> file = GgufFile::open_metadata(model_file("gemma-3-270m-q4_k_m.gguf", "gemma3"));
  ASSERT_TRUE(file.ok()) << file.status();
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(*file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const nlohmann::json cases = read_tokenizer_data("gemma3_tokens.json");
  ASSERT_EQ(cases.size(), 410U);
  for (const auto& entry : cases) {
    const Result<Ids> ids = (*tokenizer)->encode(entry.at("text").get<std::string>(), SpecialTokens::kAsText);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, entry.at("ids").get<Ids>()) << entry.at("text");
  }
  EXPECT_THAT((*tokenizer)->prefix_ids(), ElementsAre(2));
}

class DeepseekHeader : public ::testing::Test {
 protected:
  const std::string path_ = model_file("DeepSeek-R1-Distill-Qwen-7B.header.gguf", "deepseek-header");
};

TEST_F(DeepseekHeader, IsRefusedAsAModel) {
  const Result<GgufFile> file = GgufFile::open(path_);
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.status().message(), AllOf(HasSubstr(path_), HasSubstr("is the file cut off?")));
}

TEST_F(DeepseekHeader, TokenizesOffline) {
  const offline::TokenizeOptions options{.model_path = path_, .parse_special = true, .add_bos = true};
  const Result<Ids> ids = offline::tokenize_text(options, "<｜User｜>Hello world 123");
  ASSERT_TRUE(ids.ok()) << ids.status();
  EXPECT_THAT(*ids, ElementsAre(151646, 151644, 9707, 1879, 220, 16, 17, 18));
  const Result<std::string> text = offline::detokenize_ids(path_, *ids, true);
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(*text, "<｜begin▁of▁sentence｜><｜User｜>Hello world 123");
}

TEST_F(DeepseekHeader, RendersItsChatTemplate) {
  offline::RenderOptions options{.path = path_, .tokens = {}, .prompt = {}};
  options.prompt.messages_json =
      R"([{"role":"user","content":"Hi"},{"role":"assistant","content":"<think>hm</think>Hello"},
          {"role":"user","content":"<｜User｜>"}])";
  const Result<std::vector<TextRun>> runs = offline::render_prompt(options);
  ASSERT_TRUE(runs.ok()) << runs.status();
  std::string text;
  for (const TextRun& run : *runs) text += run.text;
  EXPECT_EQ(text,
            "<｜begin▁of▁sentence｜><｜User｜>Hi<｜Assistant｜>Hello<｜end▁of▁sentence｜><｜User｜><｜User｜>"
            "<｜Assistant｜>");
}

}  // namespace
}  // namespace sluice::engine
