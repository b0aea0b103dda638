#include "engine/hf_config.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::engine {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json base(const std::string& model_type) {
  return {{"model_type", model_type}, {"vocab_size", 320},      {"hidden_size", 64},
          {"intermediate_size", 160}, {"num_hidden_layers", 6}, {"num_attention_heads", 4},
          {"num_key_value_heads", 2}, {"rms_norm_eps", 1e-6},   {"max_position_embeddings", 512}};
}

ModelConfig read(const json& document) {
  const auto config = read_hf_config(document, "config.json", "m");
  EXPECT_TRUE(config.ok()) << config.status() << "\n" << document;
  return config.ok() ? config->model : ModelConfig{};
}

std::string error_of(const json& document) {
  const auto config = read_hf_config(document, "config.json", "m");
  EXPECT_FALSE(config.ok()) << document;
  return config.status().message();
}

json with(json document, const json& more) {
  document.update(more);
  return document;
}

TEST(HfConfig, ReadsALlama) {
  const ModelConfig config = read(with(base("llama"), {{"eos_token_id", {2, 3}}, {"rope_theta", 5e5}}));
  EXPECT_EQ(config.name, "m");
  EXPECT_EQ(config.architecture, "llama");
  EXPECT_EQ(config.family, ModelFamily::kLlama);
  EXPECT_EQ(config.vocab_size, 320);
  EXPECT_EQ(config.layer_count, 6);
  EXPECT_EQ(config.width, 64);
  EXPECT_EQ(config.ffn_width, 160);
  EXPECT_EQ(config.head_count, 4);
  EXPECT_EQ(config.kv_head_count, 2);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rope_dim, 16);
  EXPECT_FALSE(config.rope_is_pairwise);
  EXPECT_EQ(config.rope.base, 5e5);
  EXPECT_EQ(config.rope.scaling, RopeScaling::kNone);
  EXPECT_FLOAT_EQ(config.norm_epsilon, 1e-6F);
  EXPECT_EQ(config.norm_weight_shift, 0);
  EXPECT_FLOAT_EQ(config.attention_scale, 0.25F);
  EXPECT_EQ(config.embedding_scale, 1);
  EXPECT_EQ(config.activation, GateActivation::kSilu);
  EXPECT_EQ(config.context_length, 512);
  EXPECT_FALSE(config.has_qkv_bias);
  EXPECT_FALSE(config.has_qk_norm);
  EXPECT_EQ(config.experts.count, 0);
  EXPECT_EQ(config.window, 0);
  EXPECT_THAT(config.end_ids, ElementsAre(2, 3));
}

TEST(HfConfig, NullIsAsGoodAsAbsent) {
  json document = with(
      base("llama"),
      {{"num_key_value_heads", nullptr}, {"head_dim", nullptr}, {"eos_token_id", nullptr}, {"rope_scaling", nullptr}});
  const ModelConfig config = read(document);
  EXPECT_EQ(config.kv_head_count, 4);
  EXPECT_EQ(config.head_dim, 16);
  EXPECT_EQ(config.rope.base, 10000);
  EXPECT_THAT(config.end_ids, IsEmpty());
}

TEST(HfConfig, KnowsWhichFamilyHasBiasesAndHeadNorms) {
  EXPECT_TRUE(read(base("qwen2")).has_qkv_bias);
  EXPECT_FALSE(read(base("qwen2")).has_qk_norm);
  EXPECT_TRUE(read(base("qwen3")).has_qk_norm);
  EXPECT_FALSE(read(base("qwen3")).has_qkv_bias);
  EXPECT_EQ(read(base("qwen3")).head_dim, 128);
  EXPECT_EQ(read(base("phi3")).architecture, "phi3");
  EXPECT_EQ(read(base("mistral")).architecture, "llama");
}

TEST(HfConfig, TiesTheEmbeddingOnlyWhereToldOrUsual) {
  EXPECT_FALSE(read_hf_config(base("llama"), "", "")->ties_embeddings);
  EXPECT_TRUE(read_hf_config(with(base("llama"), {{"tie_word_embeddings", true}}), "", "")->ties_embeddings);
  EXPECT_TRUE(read_hf_config(base("gemma3_text"), "", "")->ties_embeddings);
}

TEST(HfConfig, ReadsGemma3) {
  const ModelConfig config = read(with(base("gemma3_text"), {{"query_pre_attn_scalar", 64}, {"sliding_window", 16}}));
  EXPECT_EQ(config.family, ModelFamily::kGemma3);
  EXPECT_EQ(config.head_dim, 256);
  EXPECT_EQ(config.activation, GateActivation::kGeluTanh);
  EXPECT_EQ(config.norm_weight_shift, 1);
  EXPECT_EQ(config.embedding_scale, 8);
  EXPECT_FLOAT_EQ(config.attention_scale, 0.125F);
  EXPECT_EQ(config.window, 16);
  EXPECT_THAT(config.layer_has_window, ElementsAre(true, true, true, true, true, false));
  EXPECT_EQ(config.rope.base, 1e6);
  EXPECT_EQ(config.window_rope.base, 1e4);
}

TEST(HfConfig, ReadsTheTextPartOfGemma3WithImages) {
  const json document = {{"model_type", "gemma3"},
                         {"eos_token_id", {1, 106}},
                         {"text_config",
                          {{"model_type", "gemma3_text"},
                           {"hidden_size", 2560},
                           {"intermediate_size", 10240},
                           {"num_hidden_layers", 34},
                           {"rope_scaling", {{"factor", 8.0}, {"rope_type", "linear"}}},
                           {"sliding_window", 1024}}},
                         {"vision_config", {{"hidden_size", 1152}}}};
  const ModelConfig config = read(document);
  EXPECT_EQ(config.architecture, "gemma3");
  EXPECT_EQ(config.vocab_size, 262208);
  EXPECT_EQ(config.head_count, 8);
  EXPECT_EQ(config.kv_head_count, 4);
  EXPECT_EQ(config.context_length, 131072);
  EXPECT_EQ(config.rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(config.rope.factor, 8);
  EXPECT_EQ(config.window_rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(config.window_rope.base, 1e4);
  EXPECT_THAT(config.end_ids, ElementsAre(1, 106));
  EXPECT_THAT(error_of({{"model_type", "gemma3"}, {"text_config", 5}}), HasSubstr("text_config is not an object"));
}

TEST(HfConfig, ReadsExperts) {
  const ModelConfig mixtral = read(with(base("mixtral"), {{"num_local_experts", 8}, {"num_experts_per_tok", 2}}));
  EXPECT_EQ(mixtral.family, ModelFamily::kMixtral);
  EXPECT_EQ(mixtral.architecture, "llama");
  EXPECT_EQ(mixtral.experts.count, 8);
  EXPECT_EQ(mixtral.experts.per_token, 2);
  EXPECT_EQ(mixtral.experts.ffn_width, 160);
  EXPECT_TRUE(mixtral.experts.sums_to_one);
  EXPECT_EQ(mixtral.rope.base, 1e6);
  const json qwen =
      with(base("qwen3_moe"), {{"num_experts", 16}, {"num_experts_per_tok", 4}, {"moe_intermediate_size", 48}});
  EXPECT_EQ(read(qwen).experts.ffn_width, 48);
  EXPECT_FALSE(read(qwen).experts.sums_to_one);
  EXPECT_TRUE(read(with(qwen, {{"norm_topk_prob", true}})).experts.sums_to_one);
  EXPECT_THAT(error_of(with(qwen, {{"decoder_sparse_step", 2}})), HasSubstr("decoder_sparse_step is not 1"));
  EXPECT_THAT(error_of(with(qwen, {{"mlp_only_layers", {0}}})), HasSubstr("mlp_only_layers is not empty"));
  EXPECT_THAT(error_of(with(qwen, {{"num_experts_per_tok", 17}})), HasSubstr("num_experts_per_tok is 17"));
  EXPECT_THAT(error_of(with(base("llama"), {{"num_experts", 4}})), HasSubstr("num_experts is set"));
}

TEST(HfConfig, ReadsRopeScalingInBothSpellings) {
  const json scaling = {
      {"factor", 8.0}, {"low_freq_factor", 1.0}, {"high_freq_factor", 4.0}, {"original_max_position_embeddings", 64}};
  const json old_spelling =
      with(base("llama"), {{"rope_theta", 5e5}, {"rope_scaling", with(scaling, {{"type", "llama3"}})}});
  const json new_spelling =
      with(base("llama"), {{"rope_parameters", with(scaling, {{"rope_type", "llama3"}, {"rope_theta", 5e5}})}});
  for (const json& document : {old_spelling, new_spelling}) {
    const RopeConfig rope = read(document).rope;
    EXPECT_EQ(rope.base, 5e5);
    EXPECT_EQ(rope.scaling, RopeScaling::kLlama3);
    EXPECT_EQ(rope.factor, 8);
    EXPECT_EQ(rope.low_frequency_factor, 1);
    EXPECT_EQ(rope.high_frequency_factor, 4);
    EXPECT_EQ(rope.original_context, 64);
    EXPECT_EQ(rope.magnitude, 1);
  }
}

json yarn(const json& more = json::object()) {
  return with(base("qwen2"),
              {{"rope_scaling",
                with({{"rope_type", "yarn"}, {"factor", 4.0}, {"original_max_position_embeddings", 128}}, more)}});
}

TEST(HfConfig, ReadsYarn) {
  const RopeConfig plain = read(yarn()).rope;
  EXPECT_EQ(plain.scaling, RopeScaling::kYarn);
  EXPECT_EQ(plain.factor, 4);
  EXPECT_EQ(plain.original_context, 128);
  EXPECT_EQ(plain.beta_fast, 32);
  EXPECT_EQ(plain.beta_slow, 1);
  EXPECT_TRUE(plain.is_ramp_whole);
  EXPECT_DOUBLE_EQ(plain.magnitude, 0.1 * std::log(4.0) + 1);
  const RopeConfig told =
      read(yarn({{"beta_fast", 16}, {"beta_slow", 2}, {"truncate", false}, {"attention_factor", 1.5}})).rope;
  EXPECT_EQ(told.beta_fast, 16);
  EXPECT_EQ(told.beta_slow, 2);
  EXPECT_FALSE(told.is_ramp_whole);
  EXPECT_EQ(told.magnitude, 1.5);
  const double quotient = (0.1 * 2 * std::log(4.0) + 1) / (0.1 * 0.5 * std::log(4.0) + 1);
  EXPECT_DOUBLE_EQ(read(yarn({{"mscale", 2}, {"mscale_all_dim", 0.5}})).rope.magnitude, quotient);
  EXPECT_EQ(read(yarn({{"original_max_position_embeddings", nullptr}})).rope.original_context, 512);
}

TEST(HfConfig, ReadsRopeByTypeOfLayer) {
  const json parameters = {{"full_attention", {{"rope_type", "linear"}, {"factor", 2.0}, {"rope_theta", 2e6}}},
                           {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 3e4}}}};
  const ModelConfig config = read(with(base("gemma3_text"), {{"rope_parameters", parameters}, {"sliding_window", 16}}));
  EXPECT_EQ(config.rope.base, 2e6);
  EXPECT_EQ(config.rope.factor, 2);
  EXPECT_EQ(config.window_rope.base, 3e4);
  EXPECT_EQ(config.window_rope.scaling, RopeScaling::kNone);
  json missing = parameters;
  missing.erase("sliding_attention");
  EXPECT_THAT(error_of(with(base("gemma3_text"), {{"rope_parameters", missing}, {"sliding_window", 16}})),
              HasSubstr("sliding_attention is missing"));
}

TEST(HfConfig, RefusesRopeSettingsItDoesNotKnow) {
  const auto scaled = [](const json& rope) { return error_of(with(base("llama"), {{"rope_scaling", rope}})); };
  for (const char* type : {"dynamic", "longrope", "su", "mrope", "proportional"}) {
    EXPECT_THAT(scaled({{"rope_type", type}, {"factor", 2.0}}), HasSubstr("rope_type is \"" + std::string(type)));
  }
  EXPECT_THAT(scaled({{"rope_type", "linear"}}), HasSubstr("rope_scaling: factor is missing"));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"factor", 0.5}}), HasSubstr("factor is 0.5"));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"factor", "2"}}), HasSubstr("factor is \"2\""));
  EXPECT_THAT(scaled({{"rope_type", "linear"}, {"factor", 2}, {"twist", 1}}), HasSubstr("twist is not a setting"));
  EXPECT_THAT(scaled({{"factor", 2.0}}), HasSubstr("factor is not a setting"));
  EXPECT_THAT(scaled({{"rope_type", "llama3"}, {"factor", 8}, {"low_freq_factor", 4}, {"high_freq_factor", 4}}),
              HasSubstr("high_freq_factor must be above"));
  EXPECT_THAT(scaled({{"rope_type", 5}}), HasSubstr("rope_type is 5, but must be a string"));
  EXPECT_THAT(scaled(json::array()), HasSubstr("rope_scaling is a list, but must be an object"));
  EXPECT_THAT(error_of(yarn({{"beta_fast", 0.5}})), HasSubstr("beta_fast must not be below"));
  EXPECT_THAT(error_of(with(yarn(), {{"rope_theta", 1}})), HasSubstr("rope_theta must be above 1"));
  EXPECT_THAT(error_of(with(base("llama"), {{"rope_theta", 0}})), HasSubstr("rope_theta is 0"));
  EXPECT_THAT(error_of(with(base("phi3"), {{"rope_scaling", {{"type", "yarn"}, {"factor", 2}}}})),
              HasSubstr("only known with default"));
}

TEST(HfConfig, TurnsAPartOfEachHeadWhereTheFamilyDoes) {
  EXPECT_EQ(read(with(base("phi3"), {{"partial_rotary_factor", 0.75}})).rope_dim, 12);
  EXPECT_EQ(read(with(base("phi3"), {{"rope_parameters", {{"partial_rotary_factor", 0.5}}}})).rope_dim, 8);
  EXPECT_THAT(error_of(with(base("phi3"), {{"partial_rotary_factor", 0.1}})), HasSubstr("must be even and at least 2"));
  EXPECT_THAT(error_of(with(base("llama"), {{"partial_rotary_factor", 0.5}})), HasSubstr("partial_rotary_factor"));
  const json by_type = {{"full_attention", {{"partial_rotary_factor", 0.5}}}, {"sliding_attention", json::object()}};
  EXPECT_THAT(error_of(with(base("qwen2"), {{"rope_parameters", by_type}})), HasSubstr("partial_rotary_factor"));
}

TEST(HfConfig, ReadsWindowsOfAllLayers) {
  const ModelConfig mistral = read(with(base("mistral"), {{"sliding_window", 24}}));
  EXPECT_EQ(mistral.window, 24);
  EXPECT_THAT(mistral.layer_has_window, ElementsAre(true, true, true, true, true, true));
  EXPECT_EQ(read(with(base("mistral"), {{"sliding_window", nullptr}})).window, 0);
  EXPECT_EQ(read(with(base("mistral"), {{"max_position_embeddings", 8192}})).window, 4096);
  EXPECT_EQ(read(with(base("phi3"), {{"sliding_window", 100}})).window, 100);
  EXPECT_THAT(error_of(with(base("mistral"), {{"sliding_window", 0}})), HasSubstr("sliding_window is 0"));
}

TEST(HfConfig, AWindowAsLongAsTheContextIsNone) {
  EXPECT_EQ(read(with(base("mistral"), {{"sliding_window", 511}})).window, 511);
  const ModelConfig config = read(with(base("mistral"), {{"sliding_window", 512}}));
  EXPECT_EQ(config.window, 0);
  EXPECT_THAT(config.layer_has_window, IsEmpty());
}

TEST(HfConfig, QwensWindowsAreOffUnlessTurnedOn) {
  const json document = with(base("qwen2"), {{"sliding_window", 32}, {"max_window_layers", 4}});
  EXPECT_EQ(read(document).window, 0);
  const ModelConfig config = read(with(document, {{"use_sliding_window", true}}));
  EXPECT_EQ(config.window, 32);
  EXPECT_THAT(config.layer_has_window, ElementsAre(false, false, false, false, true, true));
  EXPECT_EQ(read(with(base("qwen2"), {{"use_sliding_window", true}, {"sliding_window", 32}})).window, 0);
}

TEST(HfConfig, LayerTypesSayWhichLayersHaveAWindow) {
  const json types = {"sliding_attention", "full_attention", "sliding_attention",
                      "full_attention",    "full_attention", "full_attention"};
  const json qwen = with(base("qwen3"), {{"layer_types", types}, {"sliding_window", 32}, {"use_sliding_window", true}});
  EXPECT_THAT(read(qwen).layer_has_window, ElementsAre(true, false, true, false, false, false));
  EXPECT_THAT(error_of(with(qwen, {{"use_sliding_window", false}})), HasSubstr("no window is set"));
  EXPECT_THAT(error_of(with(base("mistral"), {{"layer_types", types}, {"sliding_window", 32}})),
              HasSubstr("layer_types says something else"));
  EXPECT_THAT(error_of(with(qwen, {{"layer_types", {"full_attention"}}})), HasSubstr("has 1 entries for 6 layers"));
  json chunked = types;
  chunked[0] = "chunked_attention";
  EXPECT_THAT(error_of(with(qwen, {{"layer_types", chunked}})), HasSubstr("has \"chunked_attention\""));
  EXPECT_THAT(error_of(with(qwen, {{"layer_types", {1}}})), HasSubstr("layer_types is not a list of"));
}

TEST(HfConfig, GemmasPatternHasTwoSpellings) {
  for (const char* key : {"sliding_window_pattern", "_sliding_window_pattern"}) {
    EXPECT_THAT(read(with(base("gemma3_text"), {{key, 2}, {"sliding_window", 16}})).layer_has_window,
                ElementsAre(true, false, true, false, true, false));
  }
}

TEST(HfConfig, RefusesModelTypesByName) {
  EXPECT_THAT(error_of(base("falcon")),
              HasSubstr("config.json: the model_type \"falcon\" is not supported, only llama"));
  EXPECT_THAT(error_of(json::object()), HasSubstr("model_type is missing"));
  EXPECT_THAT(error_of({{"model_type", 5}}), HasSubstr("model_type is 5, but must be a string"));
  EXPECT_THAT(error_of(json::array()), HasSubstr("not a JSON object"));
}

TEST(HfConfig, RefusesWhatNothingHereComputes) {
  for (const char* name : {"attention_bias", "mlp_bias", "use_bidirectional_attention"}) {
    EXPECT_THAT(error_of(with(base("llama"), {{name, true}})), HasSubstr(std::string(name) + " is true"));
    read(with(base("llama"), {{name, false}}));
  }
  for (const char* name : {"attn_logit_softcapping", "final_logit_softcapping", "quantization_config"}) {
    EXPECT_THAT(error_of(with(base("gemma3_text"), {{name, 30.0}})), HasSubstr(std::string(name) + " is set"));
    read(with(base("gemma3_text"), {{name, nullptr}}));
  }
  for (const char* name : {"gelu", "relu2", "swish"}) {
    EXPECT_THAT(error_of(with(base("llama"), {{"hidden_act", name}})),
                HasSubstr("hidden_act is \"" + std::string(name)));
    EXPECT_THAT(error_of(with(base("gemma3_text"), {{"hidden_activation", name}})), HasSubstr("hidden_activation is"));
  }
  EXPECT_EQ(read(with(base("llama"), {{"hidden_act", "gelu_pytorch_tanh"}})).activation, GateActivation::kGeluTanh);
}

TEST(HfConfig, HoldsEveryNumberAgainstItsLimits) {
  for (const char* name : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                           "num_key_value_heads", "max_position_embeddings", "head_dim"}) {
    for (const json& bad :
         {json(0), json(-1), json(1.5), json("1"), json(uint64_t{1} << 40U), json(true), json::array()}) {
      EXPECT_THAT(error_of(with(base("llama"), {{name, bad}})), HasSubstr(std::string(name) + " is ")) << bad;
    }
  }
  for (const char* name : {"vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
                           "max_position_embeddings", "rms_norm_eps"}) {
    json document = base("llama");
    document.erase(name);
    EXPECT_THAT(error_of(document), HasSubstr(std::string(name) + " is missing"));
  }
  EXPECT_THAT(error_of(with(base("llama"), {{"rms_norm_eps", 2}})), HasSubstr("rms_norm_eps is 2"));
  EXPECT_THAT(error_of(with(base("llama"), {{"num_attention_heads", 3}})),
              HasSubstr("not a multiple of the 2 KV heads"));
  EXPECT_THAT(error_of(with(base("llama"), {{"hidden_size", 66}})), HasSubstr("not a multiple of the 4 heads"));
  EXPECT_THAT(error_of(with(base("llama"), {{"hidden_size", 8192}})), HasSubstr("gives heads of 2048 elements"));
  EXPECT_THAT(error_of(with(base("llama"), {{"eos_token_id", 320}})), HasSubstr("eos_token_id is 320"));
  EXPECT_THAT(error_of(with(base("llama"), {{"eos_token_id", {1, "2"}}})), HasSubstr("eos_token_id is \"2\""));
  EXPECT_THAT(error_of(with(base("llama"), {{"tie_word_embeddings", 1}})), HasSubstr("tie_word_embeddings is 1"));
}

}  // namespace
}  // namespace sluice::engine
