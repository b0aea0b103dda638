// Vocabularies of real models in GGUF files without weights, with the ids that the models' own tokenizers give.

#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/detokenizer.h"
#include "engine/gguf.h"
#include "engine/tokenizer.h"
#include "tests/real_tokenizers/model_file.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<int32_t>;

struct Sample {
  std::string text;
  Ids ids;
};

std::vector<std::string> split_texts(std::string_view all) {
  constexpr std::string_view kBorder = "\n__ggml_vocab_test__\n";
  std::vector<std::string> texts;
  for (size_t end = all.find(kBorder); end != std::string_view::npos; end = all.find(kBorder)) {
    texts.emplace_back(all.substr(0, end));
    all.remove_prefix(end + kBorder.size());
  }
  if (!all.empty()) texts.emplace_back(all);
  return texts;
}

std::vector<Sample> samples_of(const std::string& vocabulary) {
  std::vector<Sample> samples;
  std::istringstream lines(read_text(vocabulary + ".out"));
  for (std::string& text : split_texts(read_text(vocabulary + ".inp"))) {
    Sample sample{.text = std::move(text), .ids = {}};
    std::string line;
    EXPECT_TRUE(std::getline(lines, line)) << vocabulary << ".out has too few lines";
    std::istringstream words(line);
    for (int32_t id = 0; words >> id;) sample.ids.push_back(id);
    samples.push_back(std::move(sample));
  }
  return samples;
}

class Vocabulary : public ::testing::TestWithParam<std::string> {
 protected:
  const std::string path_ = model_file("vocabularies", "vocabularies") + "/ggml-vocab-" + GetParam() + ".gguf";
};

TEST_P(Vocabulary, GivesTheIdsOfTheModelsOwnTokenizerAndBack) {
  const Result<GgufFile> file = GgufFile::open_metadata(path_);
  ASSERT_TRUE(file.ok()) << file.status();
  const Result<std::unique_ptr<Tokenizer>> tokenizer = Tokenizer::from_gguf(*file);
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.status();
  const std::vector<Sample> samples = samples_of(path_);
  ASSERT_GT(samples.size(), 40U);
  for (const Sample& sample : samples) {
    const Result<Ids> ids = (*tokenizer)->encode(sample.text, SpecialTokens::kAsText);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_EQ(*ids, sample.ids) << sample.text;
    Detokenizer detokenizer(**tokenizer, TextExtent::kWhole);
    std::string text;
    for (const int32_t id : *ids) text += detokenizer.push(id);
    EXPECT_EQ(text + detokenizer.flush(), sample.text);
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '-' ? '_' : c;
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Vocabulary,
                         ::testing::Values("gpt-2", "llama-bpe", "llama-spm", "qwen2", "phi-3", "deepseek-llm",
                                           "deepseek-coder", "starcoder", "falcon", "command-r", "mpt", "refact"),
                         test_name);

TEST(Vocabularies, AreRefusedByTheNameOfWhatIsNotKnown) {
  const auto failure = [](std::string_view name) {
    const Result<GgufFile> file =
        GgufFile::open_metadata(model_file("vocabularies", "vocabularies") + "/ggml-vocab-" + std::string(name));
    EXPECT_TRUE(file.ok()) << file.status();
    return Tokenizer::from_gguf(*file).status().message();
  };
  EXPECT_THAT(failure("bert-bge.gguf"), HasSubstr("tokenizer.ggml.model is \"bert\""));
  EXPECT_THAT(failure("qwen35.gguf"), HasSubstr("tokenizer.ggml.pre is \"qwen35\""));
}

}  // namespace
}  // namespace sluice::engine
