#include "engine/hf_checkpoint.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/cpu_isa.h"
#include "tests/engine/hf_folder.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int32_t> prompt_bytes() {
  const std::string text = "The quick brown fox";
  return {text.begin(), text.end()};
}

std::string load_error(const std::string& path) {
  const auto executor = make_executor(path, {});
  EXPECT_FALSE(executor.ok());
  return executor.ok() ? "" : executor.status().message();
}

class HuggingFaceModel : public ::testing::TestWithParam<CpuIsa> {
 protected:
  struct Outcome {
    std::vector<int32_t> tokens;
    double first_logprob = 0;
  };

  Outcome greedy(const std::string& path, int32_t count) {
    const ExecutorShape shape{.isa = std::string(cpu_isa_name(GetParam())), .block_count = 16};
    const auto executor = make_executor(path, shape);
    EXPECT_TRUE(executor.ok()) << executor.status();
    if (!executor.ok()) return {};
    const TestSequence result = SequenceRunner(**executor, shape).generate(prompt_bytes(), count);
    return {drawn_tokens(result), double{result.samples.front().logprob}};
  }
};

// The same bytes as T_base.gguf, whose rows are meant for pairwise rotation: there the first token is 134. The log-
// probability is that of the reference's logit 9.797 among its 260.
TEST_P(HuggingFaceModel, B32_QuantBlocks_f_RotatesHalvesOfAHead) {
  const Outcome outcome = greedy(hf_test_folder("T_base"), 1);
  EXPECT_THAT(outcome.tokens, ElementsAre(44));
  EXPECT_NEAR(outcome.first_logprob, -0.7450, 0.03);
}

TEST_P(HuggingFaceModel, B33_WeightsMap_d_TakesTheRopeBaseOfEitherSpelling) {
  HfFolder folder("T_theta");
  for (const bool is_new_spelling : {false, true}) {
    if (is_new_spelling) {
      folder.configure([](json& config) {
        config.erase("rope_theta");
        config["rope_parameters"] = {{"rope_type", "default"}, {"rope_theta", 1000000.0}};
      });
    }
    const Outcome outcome = greedy(folder.path(), 2);
    EXPECT_THAT(outcome.tokens, ElementsAre(35, 58));
    EXPECT_NEAR(outcome.first_logprob, -0.3197, 0.03);  // of the logit 10.0536
  }
  folder.configure([](json& config) { config["rope_parameters"]["rope_theta"] = 10000.0; });
  EXPECT_EQ(greedy(folder.path(), 1).tokens.front(), 44);
}

TEST_P(HuggingFaceModel, ReadsShardsAsOneFile) {
  HfFolder folder("T_theta");
  std::filesystem::remove(folder.files().path_of("model.safetensors"));
  SafetensorsBuilder first;
  SafetensorsBuilder second;
  json index = {{"metadata", {{"total_size", 1}}}};
  folder.for_each_tensor("T_theta", [&](const SafetensorsEntry& entry) {
    const bool is_first = index["weight_map"].size() % 2 == 0;
    (is_first ? first : second).tensor(entry.name, "F32", entry.shape, entry.data);
    index["weight_map"][entry.name] =
        is_first ? "model-00001-of-00002.safetensors" : "model-00002-of-00002.safetensors";
  });
  folder.files().write("model-00001-of-00002.safetensors", first.build());
  folder.files().write("model-00002-of-00002.safetensors", second.build());
  folder.files().write("model.safetensors.index.json", index.dump());
  EXPECT_THAT(greedy(folder.path(), 2).tokens, ElementsAre(35, 58));
}

TEST_P(HuggingFaceModel, AStoredOutputMatrixCountsWhereItDiffersFromTheEmbedding) {
  HfFolder folder("T_base");
  for (const bool differs : {false, true}) {
    SafetensorsBuilder builder;
    folder.for_each_tensor("T_base", [&](const SafetensorsEntry& entry) {
      builder.tensor(entry.name, "F32", entry.shape, entry.data);
      if (entry.name != "model.embed_tokens.weight") return;
      std::vector<std::byte> output(entry.data.begin(), entry.data.end());
      // Token 44 becomes as likely as token 0 was, and the other way around.
      const size_t row = output.size() / 260;
      if (differs)
        std::swap_ranges(output.begin(), output.begin() + static_cast<int64_t>(row),
                         output.begin() + static_cast<int64_t>(44 * row));
      builder.tensor("lm_head.weight", "F32", entry.shape, output);
    });
    folder.files().write("model.safetensors", builder.build());
    EXPECT_EQ(greedy(folder.path(), 1).tokens.front(), differs ? 0 : 44);
    const auto checkpoint = Checkpoint::open(folder.path());
    ASSERT_TRUE(checkpoint.ok());
    EXPECT_EQ((*checkpoint)->tensors().find_tensor("output.weight") != nullptr, differs);
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, HuggingFaceModel, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

TEST(B33_WeightsMap, g_RefusesAModelWithoutAnyOutputMatrix) {
  HfFolder folder("T_base");
  folder.configure([](json& config) { config["tie_word_embeddings"] = false; });
  EXPECT_EQ(load_error(folder.path()), folder.path() +
                                           ": tensor lm_head.weight is missing, and tie_word_embeddings of "
                                           "config.json is not true");
}

TEST(B33_WeightsMap, h_RefusesARopeTypeNobodyKnows) {
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    HfFolder folder("T_base");
    folder.configure([&](json& config) { config[key] = {{"rope_type", "spiral"}, {"factor", 2.0}}; });
    EXPECT_THAT(load_error(folder.path()), HasSubstr("rope_type is \"spiral\""));
  }
}

TEST(HfCheckpoint, TellsTensorsByTheFilesOwnNames) {
  HfFolder folder("T_base");
  SafetensorsBuilder builder;
  folder.for_each_tensor("T_base", [&](const SafetensorsEntry& entry) {
    if (entry.name != "model.layers.1.mlp.up_proj.weight") {
      builder.tensor(entry.name, "F32", entry.shape, entry.data);
    }
  });
  folder.files().write("model.safetensors", builder.build());
  EXPECT_EQ(load_error(folder.path()), folder.path() + ": tensor model.layers.1.mlp.up_proj.weight is missing");
}

TEST(HfCheckpoint, RefusesATensorThatNobodyTakes) {
  HfFolder folder("T_base");
  SafetensorsBuilder builder;
  folder.for_each_tensor(
      "T_base", [&](const SafetensorsEntry& entry) { builder.tensor(entry.name, "F32", entry.shape, entry.data); });
  const float one = 1;
  builder.tensor("model.layers.0.self_attn.rotary_emb.inv_freq", "F32", {1}, std::as_bytes(std::span(&one, 1)));
  folder.files().write("model.safetensors", builder.build());
  EXPECT_TRUE(make_executor(folder.path(), {}).ok());
  builder.tensor("model.layers.0.self_attn.q_proj.bias", "F32", {1}, std::as_bytes(std::span(&one, 1)));
  folder.files().write("model.safetensors", builder.build());
  EXPECT_THAT(load_error(folder.path()), HasSubstr("model.layers.0.self_attn.q_proj.bias is not part of"));
}

TEST(HfCheckpoint, NamesWhatAFolderLacks) {
  const TemporaryFolder empty;
  EXPECT_EQ(Checkpoint::open(empty.path()).status().message(),
            empty.path_of("config.json") + ": No such file or directory");
  HfFolder folder("T_base");
  std::filesystem::remove(folder.files().path_of("model.safetensors"));
  EXPECT_EQ(Checkpoint::open(folder.path()).status().message(),
            folder.path() + ": it has neither model.safetensors nor model.safetensors.index.json");
}

TEST(HfCheckpoint, AsksForTheFolderWhenAFileOfItIsNamed) {
  const std::string folder = hf_test_folder("T_base");
  EXPECT_THAT(Checkpoint::open(folder + "/model.safetensors").status().message(), HasSubstr("name the folder"));
  EXPECT_THAT(Checkpoint::open(folder + "/config.json").status().message(), HasSubstr("name the folder"));
}

TEST(HfCheckpoint, IsCalledAsItsFolder) {
  const std::string folder = hf_test_folder("T_base");
  for (const std::string& path : {folder, folder + "/", folder + "/."}) {
    const auto checkpoint = Checkpoint::open(path);
    ASSERT_TRUE(checkpoint.ok()) << checkpoint.status();
    EXPECT_EQ((*checkpoint)->config()->name, "T_base");
  }
}

TEST(HfCheckpoint, EndsAreThoseOfBothConfigurations) {
  HfFolder folder("T_base");
  folder.files().write("generation_config.json", R"({"eos_token_id": [257, 256]})");
  EXPECT_THAT(Checkpoint::open(folder.path()).value()->config()->end_ids, ElementsAre(256, 257));
  folder.files().write("generation_config.json", R"({"eos_token_id": [260]})");
  EXPECT_THAT(Checkpoint::open(folder.path()).status().message(),
              HasSubstr("generation_config.json: eos_token_id is 260, but must be a whole number from 0 to 259"));
}

/// The error of opening a folder with this index beside one shard, which has the tensor "a".
std::string index_error(const std::string& index) {
  HfFolder folder("T_base");
  std::filesystem::remove(folder.files().path_of("model.safetensors"));
  const float one = 1;
  folder.files().write("s.safetensors",
                       SafetensorsBuilder().tensor("a", "F32", {1}, std::as_bytes(std::span(&one, 1))).build());
  folder.files().write("t.safetensors",
                       SafetensorsBuilder().tensor("a", "F32", {1}, std::as_bytes(std::span(&one, 1))).build());
  folder.files().write("model.safetensors.index.json", index);
  const auto checkpoint = Checkpoint::open(folder.path());
  EXPECT_FALSE(checkpoint.ok()) << index;
  return checkpoint.status().message();
}

TEST(HfCheckpoint, RefusesShardsOutsideTheFolder) {
  for (const char* name : {"../s.safetensors", "/etc/x.safetensors", "x/../s.safetensors", "..", "s.bin", ""}) {
    EXPECT_THAT(index_error(json({{"weight_map", {{"a", name}}}}).dump()),
                HasSubstr("which is not the name of a .safetensors file in the folder"));
  }
}

TEST(HfCheckpoint, NamesWhatAnIndexPromisesInVain) {
  EXPECT_THAT(index_error(R"({"weight_map": {"b": "s.safetensors"}})"),
              HasSubstr("s.safetensors: tensor b is missing, though "));
  EXPECT_THAT(index_error(R"({"weight_map": {"b": "r.safetensors"}})"),
              HasSubstr("r.safetensors: No such file or directory; "));
  EXPECT_THAT(index_error(R"({"weight_map": {"a": "s.safetensors", "b": 1}})"), HasSubstr("the file of tensor b"));
  EXPECT_THAT(index_error(R"({"weight_map": {}})"), HasSubstr("weight_map lists no tensors"));
  EXPECT_THAT(index_error(R"({"weight_map": []})"), HasSubstr("it has no object weight_map"));
  EXPECT_THAT(index_error("[]"), HasSubstr("it has no object weight_map"));
}

TEST(HfCheckpoint, RefusesATensorThatTwoShardsHave) {
  SafetensorsBuilder builder;
  EXPECT_THAT(index_error(R"({"weight_map": {"a": "s.safetensors", "x": "t.safetensors"}})"),
              HasSubstr("t.safetensors: tensor a is there twice"));
}

}  // namespace
}  // namespace sluice::engine
