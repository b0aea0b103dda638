#include "engine/synthetic_checkpoint.h"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/quant_scheme.h"
#include "engine/watched_checkpoint.h"
#include "tests/engine/hf_folder.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string open_error(const std::string& path) {
  const auto checkpoint = Checkpoint::open(path);
  EXPECT_FALSE(checkpoint.ok()) << path;
  return checkpoint.status().message();
}

std::unique_ptr<Checkpoint> opened(const std::string& path) {
  auto checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  return *std::move(checkpoint);
}

int64_t parameters_of(const TensorSource& source) {
  int64_t count = 0;
  for (const StoredTensor& tensor : source.tensors()) count += tensor.row_length() * tensor.row_count();
  return count;
}

std::string tiny_config(const std::string& family) {
  return SLUICE_SOURCE_DIR "/tests/data/tiny/" + family + "/config.json";
}

/// A greedy answer; every score in it is finite.
std::vector<int32_t> answer_of(const std::string& path, int32_t threads = 2) {
  const ExecutorShape shape{.threads = threads, .tokens_max = 64};
  const auto executor = make_executor(path, shape);
  EXPECT_TRUE(executor.ok()) << executor.status();
  if (!executor.ok()) return {};
  const TestSequence result = SequenceRunner(**executor, shape).generate({256, 'H', 'e', 'l', 'l', 'o'}, 8);
  for (const SampledToken& sample : result.samples) EXPECT_TRUE(std::isfinite(sample.logprob));
  return drawn_tokens(result);
}

TEST(SyntheticCheckpoint, NamesThePresetsWhereThereIsNoSuchPreset) {
  for (const std::string name : {"gpt-5", "", "Tiny", "tiny ", "folder/config.yaml"}) {
    EXPECT_THAT(open_error("synthetic:" + name),
                AllOf(HasSubstr("no preset " + name + "; there are llama-3.2-1b, llama-3.1-8b, llama-3.1-70b, "),
                      HasSubstr("smollm2-135m and tiny"), HasSubstr("synthetic:PATH/config.json")));
  }
}

TEST(SyntheticCheckpoint, NamesTheTypesWhereThereIsNoSuchType) {
  for (const std::string name : {"tiny:q9", "tiny:", "tiny:BF16", "gpt-5:int8", "tiny:bf16:q9"}) {
    EXPECT_THAT(open_error("synthetic:" + name), HasSubstr("there are bf16, f16, f32, q4_0, q4_1, ")) << name;
  }
  EXPECT_THAT(open_error("synthetic:tiny:q4_0:q4_0"), HasSubstr("no preset tiny:q4_0"));
}

TEST(SyntheticCheckpoint, RefusesATypeWhoseBlocksRowsDontFill) {
  EXPECT_THAT(open_error("synthetic:smollm2-135m:q4_k"), HasSubstr("rows of 576 elements, which are no whole blocks"));
  EXPECT_EQ(opened("synthetic:smollm2-135m:q4_0")->tensors().find_tensor("token_embd.weight")->type, TensorType::kQ4_0);
}

TEST(SyntheticCheckpoint, NamesFileAndKeyOfABadConfiguration) {
  EXPECT_EQ(open_error("synthetic:/nonexistent/config.json"), "/nonexistent/config.json: No such file or directory");
  HfFolder folder("T_base");
  const std::string path = folder.path() + "/config.json";
  folder.configure([](json& config) { config["hidden_act"] = "relu"; });
  EXPECT_THAT(open_error("synthetic:" + path), AllOf(HasSubstr(path + ": hidden_act is \"relu\"")));
  folder.configure([](json& config) {
    config["hidden_act"] = "silu";
    config["vocab_size"] = 257;
  });
  EXPECT_THAT(open_error("synthetic:" + path), HasSubstr(path + ": vocab_size is 257"));
  folder.configure([](json& config) { config["vocab_size"] = 258; });
  EXPECT_TRUE(Checkpoint::open("synthetic:" + path).ok());
}

TEST(SyntheticCheckpoint, HasTheShapesOfTheModelsThatPresetsAreCalledAfter) {
  const std::pair<const char*, int64_t> models[] = {{"llama-3.2-1b", 1235814400},
                                                    {"llama-3.1-8b", 8030261248},
                                                    {"llama-3.1-70b", 70553706496},
                                                    {"smollm2-135m", 134515008}};
  for (const auto& [name, parameters] : models) {
    const auto checkpoint = opened("synthetic:" + std::string(name));
    EXPECT_EQ(parameters_of(checkpoint->tensors()), parameters) << name;
    EXPECT_EQ(checkpoint->config()->name, name);
  }
  const auto config = opened("synthetic:llama-3.1-8b")->config();
  EXPECT_EQ(config->rope.base, 500000);
  EXPECT_EQ(config->rope.scaling, RopeScaling::kLlama3);
  EXPECT_EQ(config->head_dim, 128);
  EXPECT_EQ(config->context_length, 131072);
}

TEST(SyntheticCheckpoint, KeepsNoWeightsAndTellsTheirBytes) {
  const auto checkpoint = opened("synthetic:llama-3.1-70b");
  for (const StoredTensor& tensor : checkpoint->tensors().tensors()) EXPECT_TRUE(tensor.data.empty());
  const int64_t parameters = parameters_of(checkpoint->tensors());
  const int64_t norms = int64_t{161} * 8192;  // F32
  EXPECT_EQ(stored_bytes(checkpoint->tensors()), 2 * parameters + 2 * norms);
}

TEST(SyntheticCheckpoint, HasItsOwnEndTokens) {
  const auto checkpoint = opened("synthetic:" + tiny_config("llama"));  // whose config.json says 5
  EXPECT_TRUE(checkpoint->config()->end_ids.empty());
  EXPECT_THAT((*checkpoint->tokenizer())->end_ids(), ElementsAre(257));
  EXPECT_EQ((*checkpoint->tokenizer())->vocab_size(), 320);
  EXPECT_TRUE(checkpoint->chat_template().ok());
  EXPECT_EQ(checkpoint->config()->name, "llama");
}

TEST(SyntheticCheckpoint, GivesTwoTensorsOfAShapeDifferentWeights) {
  const auto checkpoint = opened("synthetic:tiny");
  std::vector<std::byte> first;
  std::vector<std::byte> second;
  const TensorSource& tensors = checkpoint->tensors();
  tensors.find_tensor("blk.0.ffn_up.weight")->read_rows(0, 1, first);
  tensors.find_tensor("blk.1.ffn_up.weight")->read_rows(0, 1, second);
  EXPECT_NE(first, second);
}

TEST(SyntheticModel, AnswersTheSameWhateverTheThreads) {
  const std::vector<int32_t> answer = answer_of("synthetic:tiny", 1);
  EXPECT_EQ(answer.size(), 8U);
  EXPECT_EQ(answer, answer_of("synthetic:tiny", 3));
}

TEST(SyntheticModel, TellsItsLoadingToTheLastByte) {
  const auto checkpoint = opened("synthetic:tiny:q4_0");
  std::vector<int64_t> told;
  const WatchedCheckpoint watched(*checkpoint, [&told](int64_t bytes) { told.push_back(bytes); });
  ASSERT_TRUE(load_model(watched, make_cpu_backend({.threads = 1, .isa = "auto"}).value(), 16).ok());
  EXPECT_EQ(told.size(), 3U);  // the ends and two layers
  EXPECT_EQ(told.back(), stored_bytes(checkpoint->tensors()));
}

class SyntheticFamily : public ::testing::TestWithParam<const char*> {};

TEST_P(SyntheticFamily, Answers) {
  for (const std::string type : {"", ":f32", ":q8_0"}) {
    // Rows of experts of 48 elements are no whole blocks.
    if (type == ":q8_0" && GetParam() == std::string("qwen3-moe")) continue;
    EXPECT_EQ(answer_of("synthetic:" + tiny_config(GetParam()) + type).size(), 8U) << type;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, SyntheticFamily,
                         ::testing::Values("gemma3", "llama", "llama3-rope", "mistral-window", "mixtral", "qwen2",
                                           "qwen3", "qwen3-moe"),
                         [](const auto& param) {
                           std::string name = param.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(SyntheticModel, AnswersAsPhi3) {
  HfFolder folder("T_base");
  folder.configure([](json& config) { config["model_type"] = "phi3"; });
  EXPECT_EQ(answer_of("synthetic:" + folder.path() + "/config.json").size(), 8U);
}

TEST(SyntheticModel, AnswersWithWeightsOfEveryType) {
  for (const TensorType type : kQuantizedTypes) {
    std::string name = tensor_type_name(type);
    std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::tolower(c); });
    EXPECT_EQ(answer_of("synthetic:tiny:" + name).size(), 8U) << name;
  }
}

}  // namespace
}  // namespace sluice::engine
