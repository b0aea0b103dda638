#include "engine/model_config.h"

#include <functional>
#include <map>
#include <optional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/gguf.h"
#include "tests/engine/gguf_builder.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

/// The metadata of a small llama, to be changed by a test before it is written.
struct TestModel {
  std::string architecture = "llama";
  std::map<std::string, uint32_t> ints = {
      {"block_count", 2},          {"embedding_length", 32},       {"feed_forward_length", 48}, {"context_length", 256},
      {"attention.head_count", 4}, {"attention.head_count_kv", 2}, {"vocab_size", 3},
  };
  std::map<std::string, float> floats = {{"attention.layer_norm_rms_epsilon", 1e-5F}};
  std::map<std::string, std::string> strings;
  std::function<void(GgufBuilder&)> more = [](GgufBuilder&) {};

  std::vector<std::byte> bytes() const {
    GgufBuilder builder;
    builder.string("general.architecture", architecture);
    for (const auto& [key, value] : ints) builder.u32(architecture + "." + key, value);
    for (const auto& [key, value] : floats) builder.f32(architecture + "." + key, value);
    for (const auto& [key, value] : strings) builder.string(architecture + "." + key, value);
    more(builder);
    return builder.build();
  }

  Result<ModelConfig> read() const {
    const TemporaryFile temporary(bytes());
    const Result<GgufFile> file = GgufFile::open(temporary.path());
    EXPECT_TRUE(file.ok()) << file.status();
    return ModelConfig::from_gguf(*file);
  }
};

TestModel with_int(const std::string& key, uint32_t value) {
  TestModel model;
  model.ints[key] = value;
  return model;
}

TestModel with_float(const std::string& key, float value) {
  TestModel model;
  model.floats[key] = value;
  return model;
}

void expect_refused(const TestModel& model, std::string_view reason) {
  const Result<ModelConfig> config = model.read();
  ASSERT_FALSE(config.ok()) << "expected: " << reason;
  EXPECT_THAT(config.status().message(), HasSubstr(reason));
}

void expect_accepted(const TestModel& model) {
  const Result<ModelConfig> config = model.read();
  EXPECT_TRUE(config.ok()) << config.status();
}

TEST(ModelConfig, RefusesAnUnknownArchitectureByName) {
  TestModel model;
  model.architecture = "gemma3";
  expect_refused(model, "the architecture \"gemma3\" is not supported");
}

TEST(ModelConfig, NamesAMissingValue) {
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "context_length", "attention.head_count"}) {
    TestModel model;
    model.ints.erase(key);
    expect_refused(model, "metadata llama." + std::string(key) + " is missing");
  }
  TestModel model;
  model.floats.clear();
  expect_refused(model, "llama.attention.layer_norm_rms_epsilon is missing");
}

TEST(ModelConfig, RefusesZeroSizes) {
  for (const char* key :
       {"block_count", "embedding_length", "feed_forward_length", "context_length", "attention.head_count",
        "attention.head_count_kv", "attention.key_length", "rope.dimension_count"}) {
    expect_refused(with_int(key, 0), "metadata llama." + std::string(key) + " is 0, but must be from 1 to");
  }
  expect_refused(with_int("vocab_size", 0), "a vocabulary of 0 tokens");
}

TEST(ModelConfig, AcceptsSizesUpToTheirLimitsAndNotBeyond) {
  expect_accepted(with_int("block_count", 1024));
  expect_refused(with_int("block_count", 1025), "must be from 1 to 1024");
  expect_accepted(with_int("embedding_length", 1024));
  expect_refused(with_int("embedding_length", 262145), "must be from 1 to 262144");
  expect_accepted(with_int("feed_forward_length", 2097152));
  expect_refused(with_int("feed_forward_length", 2097153), "must be from 1 to 2097152");
  expect_accepted(with_int("context_length", 67108864));
  expect_refused(with_int("context_length", 67108865), "must be from 1 to 67108864");
  expect_accepted(with_int("attention.key_length", 1024));
  expect_refused(with_int("attention.key_length", 1025), "must be from 1 to 1024");
  expect_refused(with_int("embedding_length", 4100), "gives heads of 1025 elements");
  TestModel large = with_int("attention.key_length", 64);  // then width and heads need not fit each other
  large.ints["embedding_length"] = 262144;
  large.ints["attention.head_count"] = 4096;
  expect_accepted(large);
  expect_refused(with_int("attention.head_count", 4097), "must be from 1 to 4096");
  expect_accepted(with_int("vocab_size", 4194304));
  expect_refused(with_int("vocab_size", 4194305), "4194305 tokens is out of range");
}

TEST(ModelConfig, RefusesSizesThatDoNotDivide) {
  expect_refused(with_int("attention.head_count_kv", 3), "is 4, not a multiple of the 3 KV heads");
  expect_refused(with_int("embedding_length", 33), "is 33, not a multiple of the 4 heads");
  expect_refused(with_int("attention.value_length", 4), "attention.value_length must equal");
}

TEST(ModelConfig, RefusesRopeDimensionsThatAreOddOrBeyondTheHead) {
  expect_refused(with_int("rope.dimension_count", 7), "must be even and at most the head's 8");
  expect_refused(with_int("rope.dimension_count", 10), "must be even and at most the head's 8");
  expect_accepted(with_int("rope.dimension_count", 4));
}

TEST(ModelConfig, RefusesEveryKindOfRopeScaling) {
  TestModel model;
  model.strings["rope.scaling.type"] = "yarn";
  expect_refused(model, "rope.scaling.type is \"yarn\", which is not supported");
  model.strings["rope.scaling.type"] = "none";
  expect_accepted(model);
  expect_refused(with_float("rope.scaling.factor", 4.0F), "rope.scaling.factor asks for rope scaling");
  expect_refused(with_float("rope.scale_linear", 2.0F), "rope.scale_linear asks for rope scaling");
  expect_accepted(with_float("rope.scaling.factor", 1.0F));
  TestModel llama3;
  llama3.more = [](GgufBuilder& builder) { builder.tensor_header("rope_freqs.weight", {4}, 0, 0).data(16); };
  expect_refused(llama3, "rope_freqs.weight asks for rope scaling");
}

TEST(ModelConfig, RefusesNumbersThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(with_float("rope.freq_base", nan), "rope.freq_base is nan, which is out of range");
  expect_refused(with_float("rope.freq_base", 0.0F), "out of range");
  expect_refused(with_float("attention.layer_norm_rms_epsilon", -1.0F), "out of range");
  expect_refused(with_float("attention.layer_norm_rms_epsilon", nan), "out of range");
}

TEST(ModelConfig, RefusesVariantsItDoesNotCompute) {
  expect_refused(with_int("expert_count", 8), "mixtures of experts are not supported");
  expect_accepted(with_int("expert_count", 0));
  expect_refused(with_int("attention.sliding_window", 255), "sliding-window attention is not supported");
  expect_accepted(with_int("attention.sliding_window", 256));
  TestModel encoder;
  encoder.more = [](GgufBuilder& builder) { builder.boolean("llama.attention.causal", false); };
  expect_refused(encoder, "only decoders are supported");
}

TEST(ModelConfig, RefusesVocabulariesOfDifferentSizes) {
  TestModel model;
  model.more = [](GgufBuilder& builder) { builder.strings("tokenizer.ggml.tokens", {"a", "b"}); };
  expect_refused(model, "llama.vocab_size has 3 tokens, but tokenizer.ggml.tokens has 2");
  model.more = [](GgufBuilder& builder) { builder.u32("tokenizer.ggml.tokens", 3); };
  expect_refused(model, "tokenizer.ggml.tokens is not an array of strings");
  model.more = [](GgufBuilder& builder) { builder.tensor_header("token_embd.weight", {32, 4}, 0, 0).data(512); };
  expect_refused(model, "llama.vocab_size has 3 tokens, but token_embd.weight has 4");
}

TEST(ModelConfig, TakesTheVocabularyFromTokensOrEmbedding) {
  TestModel model;
  model.ints.erase("vocab_size");
  expect_refused(model, "llama.vocab_size is missing");
  model.more = [](GgufBuilder& builder) { builder.strings("tokenizer.ggml.tokens", {"a", "b"}); };
  EXPECT_EQ(model.read()->vocab_size, 2);
  model.more = [](GgufBuilder& builder) { builder.tensor_header("token_embd.weight", {32, 4}, 0, 0).data(512); };
  EXPECT_EQ(model.read()->vocab_size, 4);
}

TEST(ModelConfig, FillsInTheUsualDefaults) {
  TestModel model;
  model.ints.erase("attention.head_count_kv");
  const Result<ModelConfig> config = model.read();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->kv_head_count, 4);
  EXPECT_EQ(config->head_dim, 8);
  EXPECT_EQ(config->rope_dim, 8);
  EXPECT_EQ(config->rope_base, 10000.0F);
  EXPECT_TRUE(config->rope_is_pairwise);
  EXPECT_FALSE(config->has_qkv_bias);
}

TEST(ModelConfig, TakesTheHeadSizeFromTheFileWhenItIsGiven) {
  TestModel model = with_int("attention.key_length", 16);
  model.ints["embedding_length"] = 33;  // then the width need not divide
  const Result<ModelConfig> config = model.read();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->head_dim, 16);
  EXPECT_EQ(config->kv_width(), 32);
}

TEST(ModelConfig, NameIsTheGeneralNameOrTheStemAndPrintable) {
  TestModel model;
  EXPECT_THAT(model.read()->name, HasSubstr("sluice_ModelConfig_"));
  model.more = [](GgufBuilder& builder) { builder.string("general.name", "My\nModel \xff"); };
  EXPECT_EQ(model.read()->name, "My?Model ?");
}

TEST(ModelConfig, ReadsLlamaAndQwen2Files) {
  const Result<GgufFile> base = GgufFile::open(gguf_test_file("T_base"));
  const Result<GgufFile> bias = GgufFile::open(gguf_test_file("T_bias"));
  ASSERT_TRUE(base.ok() && bias.ok());
  const Result<ModelConfig> llama = ModelConfig::from_gguf(*base);
  const Result<ModelConfig> qwen2 = ModelConfig::from_gguf(*bias);
  ASSERT_TRUE(llama.ok()) << llama.status();
  ASSERT_TRUE(qwen2.ok()) << qwen2.status();
  EXPECT_EQ(llama->vocab_size, 260);
  EXPECT_EQ(llama->ffn_width, 48);
  EXPECT_EQ(llama->kv_head_count, 2);
  EXPECT_TRUE(llama->rope_is_pairwise);
  EXPECT_EQ(qwen2->architecture, "qwen2");
  EXPECT_FALSE(qwen2->rope_is_pairwise);
  EXPECT_TRUE(qwen2->has_qkv_bias);
}

TEST(ModelConfig, FlippedMetadataBytesNeverCrash) {
  const std::vector<std::byte> good = TestModel().bytes();
  const TemporaryFile temporary(good);
  int opened = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    std::vector<std::byte> bytes = good;
    for (uint64_t i = 0; i <= seed % 3; ++i) {
      bytes[24 + random_bits(seed, 2 * i) % (bytes.size() - 24)] = static_cast<std::byte>(random_bits(seed, 2 * i + 1));
    }
    temporary.write(bytes);
    const Result<GgufFile> file = GgufFile::open(temporary.path());
    if (!file.ok()) continue;
    ++opened;
    const Result<ModelConfig> config = ModelConfig::from_gguf(*file);
    if (!config.ok()) continue;
    EXPECT_GE(config->head_dim, config->rope_dim);
    EXPECT_EQ(config->head_count % config->kv_head_count, 0);
  }
  EXPECT_GT(opened, 100);
}

}  // namespace
}  // namespace sluice::engine
