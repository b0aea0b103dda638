#include "engine/hf_names.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

void expect_both_ways(std::string_view model_type, const Pairs& pairs) {
  const HfNames names(model_type);
  for (const auto& [hf, gguf] : pairs) {
    EXPECT_EQ(names.to_gguf(hf), gguf);
    EXPECT_EQ(names.from_gguf(gguf), hf);
  }
}

TEST(HfNames, TranslatesTheLlamaFamily) {
  expect_both_ways("llama", {{"model.embed_tokens.weight", "token_embd.weight"},
                             {"model.norm.weight", "output_norm.weight"},
                             {"lm_head.weight", "output.weight"},
                             {"model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight"},
                             {"model.layers.31.self_attn.q_proj.weight", "blk.31.attn_q.weight"},
                             {"model.layers.1.self_attn.k_proj.weight", "blk.1.attn_k.weight"},
                             {"model.layers.1.self_attn.v_proj.weight", "blk.1.attn_v.weight"},
                             {"model.layers.1.self_attn.o_proj.weight", "blk.1.attn_output.weight"},
                             {"model.layers.1.post_attention_layernorm.weight", "blk.1.ffn_norm.weight"},
                             {"model.layers.1.mlp.gate_proj.weight", "blk.1.ffn_gate.weight"},
                             {"model.layers.1.mlp.up_proj.weight", "blk.1.ffn_up.weight"},
                             {"model.layers.1.mlp.down_proj.weight", "blk.1.ffn_down.weight"}});
}

TEST(HfNames, TranslatesBiasesAndHeadNorms) {
  expect_both_ways("qwen2", {{"model.layers.2.self_attn.q_proj.bias", "blk.2.attn_q.bias"}});
  expect_both_ways("qwen3", {{"model.layers.2.self_attn.q_norm.weight", "blk.2.attn_q_norm.weight"},
                             {"model.layers.2.self_attn.k_norm.weight", "blk.2.attn_k_norm.weight"}});
}

TEST(HfNames, TranslatesFusedMatricesAsGgufHasThem) {
  expect_both_ways("phi3", {{"model.layers.2.self_attn.qkv_proj.weight", "blk.2.attn_qkv.weight"},
                            {"model.layers.2.mlp.gate_up_proj.weight", "blk.2.ffn_up.weight"}});
}

// The name of one norm means another place than in the Llama family.
TEST(HfNames, TranslatesTheFourNormsOfGemma3) {
  expect_both_ways("gemma3_text",
                   {{"model.layers.3.post_attention_layernorm.weight", "blk.3.post_attention_norm.weight"},
                    {"model.layers.3.pre_feedforward_layernorm.weight", "blk.3.ffn_norm.weight"},
                    {"model.layers.3.post_feedforward_layernorm.weight", "blk.3.post_ffw_norm.weight"}});
}

TEST(HfNames, TranslatesExperts) {
  expect_both_ways("mixtral", {{"model.layers.3.block_sparse_moe.gate.weight", "blk.3.ffn_gate_inp.weight"},
                               {"model.layers.3.block_sparse_moe.experts.7.w1.weight", "blk.3.ffn_gate.7.weight"},
                               {"model.layers.3.block_sparse_moe.experts.7.w3.weight", "blk.3.ffn_up.7.weight"},
                               {"model.layers.3.block_sparse_moe.experts.7.w2.weight", "blk.3.ffn_down.7.weight"}});
  expect_both_ways("qwen3_moe", {{"model.layers.3.mlp.gate.weight", "blk.3.ffn_gate_inp.weight"},
                                 {"model.layers.3.mlp.experts.127.gate_proj.weight", "blk.3.ffn_gate.127.weight"},
                                 {"model.layers.3.mlp.experts.127.up_proj.weight", "blk.3.ffn_up.127.weight"},
                                 {"model.layers.3.mlp.experts.127.down_proj.weight", "blk.3.ffn_down.127.weight"}});
}

TEST(HfNames, PassesOverStoredFrequencies) {
  EXPECT_EQ(HfNames("llama").to_gguf("model.layers.0.self_attn.rotary_emb.inv_freq"), std::nullopt);
}

TEST(HfNames, TakesTheTextPartOfGemma3WithImages) {
  const HfNames names("gemma3");
  EXPECT_EQ(names.to_gguf("language_model.model.layers.0.mlp.up_proj.weight"), "blk.0.ffn_up.weight");
  EXPECT_EQ(names.to_gguf("model.language_model.layers.0.mlp.up_proj.weight"), "blk.0.ffn_up.weight");
  EXPECT_EQ(names.to_gguf("language_model.model.norm.weight"), "output_norm.weight");
  EXPECT_EQ(names.to_gguf("vision_tower.vision_model.embeddings.patch_embedding.weight"), std::nullopt);
  EXPECT_EQ(names.to_gguf("model.multi_modal_projector.mm_input_projection_weight"), std::nullopt);
}

TEST(HfNames, LeavesUnknownNamesAsTheyAre) {
  for (const std::string name :
       {"model.layers.0.self_attn.extra.weight", "model.layers.x.mlp.up_proj.weight", "model.layers.0", "model.layers.",
        "model.layers.0.mlp.experts.x.up_proj.weight", "model.layers.0.mlp.experts.1.router.weight", "other", "",
        ".weight", "language_model.model.norm.weight", "vision_tower.x"}) {
    EXPECT_EQ(HfNames("llama").to_gguf(name), name);
  }
  for (const std::string name :
       {"blk.0.unknown.weight", "blk.x.attn_q.weight", "blk.0.ffn_x.3.weight", "rope_freqs.weight", ""}) {
    EXPECT_EQ(HfNames("llama").from_gguf(name), name);
  }
}

}  // namespace
}  // namespace sluice::engine
