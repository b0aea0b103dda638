#include "engine/model_config.h"

#include <cmath>
#include <cstring>
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
  model.architecture = "gemma4";
  expect_refused(model, "the architecture \"gemma4\" is not supported; supported are llama, qwen2, qwen3,");
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

TEST(ModelConfig, ReadsTheRopeScalingsItKnows) {
  TestModel linear = with_float("rope.scaling.factor", 4.0F);
  linear.strings["rope.scaling.type"] = "linear";
  EXPECT_EQ(linear.read()->rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(linear.read()->rope.factor, 4.0);
  TestModel yarn = with_float("rope.scaling.factor", 4.0F);
  yarn.strings["rope.scaling.type"] = "yarn";
  expect_refused(yarn, "rope.scaling.original_context_length is missing");
  yarn.ints["rope.scaling.original_context_length"] = 64;
  EXPECT_EQ(yarn.read()->rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(yarn.read()->rope.original_context, 64);
  EXPECT_DOUBLE_EQ(yarn.read()->rope.magnitude, yarn_magnitude(4.0));
  TestModel none = with_float("rope.scaling.factor", 1.0F);
  none.strings["rope.scaling.type"] = "none";
  EXPECT_EQ(none.read()->rope.scaling, RopeScaling::kNone);
}

TEST(ModelConfig, RefusesRopeScalingsItDoesNotKnow) {
  TestModel model;
  model.strings["rope.scaling.type"] = "longrope";
  expect_refused(model, "rope.scaling.type is \"longrope\", which is not supported");
  expect_refused(with_float("rope.scaling.factor", 4.0F), "rope.scaling.factor is set, but rope.scaling.type");
  expect_refused(with_float("rope.scale_linear", 2.0F), "rope.scale_linear asks for rope scaling");
  expect_refused(with_float("rope.scaling.factor", -1.0F), "out of range");
  for (const char* name : {"rope_factors_long.weight", "rope_factors_short.weight"}) {
    TestModel phi;
    phi.more = [&](GgufBuilder& builder) { builder.tensor_header(name, {4}, 0, 0).data(16); };
    expect_refused(phi, std::string(name) + " asks for rope scaling (longrope)");
  }
}

/// rope_freqs.weight of `divisors`.
TestModel with_divisors(const std::vector<float>& divisors) {
  TestModel model;
  model.more = [=](GgufBuilder& builder) {
    std::vector<std::byte> bytes(divisors.size() * sizeof(float));
    std::memcpy(bytes.data(), divisors.data(), bytes.size());
    builder.tensor("rope_freqs.weight", {divisors.size()}, 0, bytes);
  };
  return model;
}

TEST(ModelConfig, TakesOneDivisorForEachPairOfAHead) {
  EXPECT_EQ(with_divisors({1, 2, 4, 8}).read()->rope.divisors, (std::vector<float>{1, 2, 4, 8}));
  expect_refused(with_divisors({1, 2, 4}), "rope_freqs.weight does not have one number for each of the 4 pairs");
  expect_refused(with_divisors({1, 2, 0, 8}), "has a divisor that is not a positive number");
}

TEST(ModelConfig, RefusesNumbersThatAreNoNumbers) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  expect_refused(with_float("rope.freq_base", nan), "rope.freq_base is nan, which is out of range");
  expect_refused(with_float("rope.freq_base", 0.0F), "out of range");
  expect_refused(with_float("attention.layer_norm_rms_epsilon", -1.0F), "out of range");
  expect_refused(with_float("attention.layer_norm_rms_epsilon", nan), "out of range");
}

TestModel of(const std::string& architecture) {
  TestModel model;
  model.architecture = architecture;
  return model;
}

TEST(ModelConfig, KnowsWhatAnArchitectureIsByItsName) {
  EXPECT_TRUE(of("llama").read()->rope_is_pairwise);
  EXPECT_TRUE(of("qwen2").read()->has_qkv_bias);
  EXPECT_TRUE(of("qwen3").read()->has_qk_norm);
  EXPECT_FALSE(of("phi3").read()->rope_is_pairwise);
  const Result<ModelConfig> gemma = of("gemma3").read();
  ASSERT_TRUE(gemma.ok()) << gemma.status();
  EXPECT_EQ(gemma->family, ModelFamily::kGemma3);
  EXPECT_EQ(gemma->activation, GateActivation::kGeluTanh);
  EXPECT_FLOAT_EQ(gemma->embedding_scale, std::sqrt(32.0F));
  EXPECT_EQ(gemma->window_rope.base, 10000.0);
}

TEST(ModelConfig, GivesAllLayersTheWindowButInGemmaEverySixth) {
  TestModel llama = with_int("attention.sliding_window", 255);
  EXPECT_EQ(llama.read()->window, 255);
  EXPECT_EQ(llama.read()->layer_has_window, std::vector<bool>(2, true));
  EXPECT_EQ(with_int("attention.sliding_window", 256).read()->window, 0) << "as long as the context is no window";
  TestModel gemma = of("gemma3");
  gemma.ints["block_count"] = 7;
  gemma.ints["attention.sliding_window"] = 16;
  EXPECT_EQ(gemma.read()->layer_has_window, (std::vector<bool>{true, true, true, true, true, false, true}));
  gemma.ints["attention.sliding_window_pattern"] = 2;
  EXPECT_EQ(gemma.read()->layer_has_window, (std::vector<bool>{true, false, true, false, true, false, true}));
}

TEST(ModelConfig, ReadsExpertsWhereTheArchitectureHasThem) {
  TestModel mixtral = with_int("expert_count", 8);
  expect_refused(mixtral, "llama.expert_used_count is missing");
  mixtral.ints["expert_used_count"] = 2;
  const Result<ModelConfig> config = mixtral.read();
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->family, ModelFamily::kMixtral);
  EXPECT_EQ(config->experts.count, 8);
  EXPECT_EQ(config->experts.per_token, 2);
  EXPECT_EQ(config->experts.ffn_width, 48);
  mixtral.ints["expert_used_count"] = 9;
  expect_refused(mixtral, "expert_used_count is 9, but must be from 1 to 8");
  expect_accepted(with_int("expert_count", 0));
  expect_refused(of("qwen3moe"), "qwen3moe.expert_count is missing");
  TestModel qwen2 = of("qwen2");
  qwen2.ints["expert_count"] = 4;
  expect_refused(qwen2, "no experts are known of this architecture");
  mixtral.ints["expert_used_count"] = 2;
  mixtral.ints["expert_shared_count"] = 1;
  expect_refused(mixtral, "expert_shared_count is set, which is not supported");
}

TEST(ModelConfig, RefusesVariantsItDoesNotCompute) {
  TestModel encoder;
  encoder.more = [](GgufBuilder& builder) { builder.boolean("llama.attention.causal", false); };
  expect_refused(encoder, "only decoders are supported");
  expect_refused(with_float("final_logit_softcapping", 30.0F), "final_logit_softcapping is set");
  expect_accepted(with_float("final_logit_softcapping", 0.0F));
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
  EXPECT_EQ(config->rope.base, 10000.0F);
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
