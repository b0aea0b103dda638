#include "engine/hf_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <span>

namespace sluice::engine {
namespace {

struct Pair {
  std::string_view hf;
  std::string_view gguf;
};

// Without the ends ".weight" and ".bias".
constexpr std::array kWhole = {Pair{"model.embed_tokens", "token_embd"}, Pair{"model.norm", "output_norm"},
                               Pair{"lm_head", "output"}};

// Behind "model.layers.N." and "blk.N.". The first pair with a name counts.
constexpr std::array kInLayer = {Pair{"input_layernorm", "attn_norm"},
                                 Pair{"self_attn.q_proj", "attn_q"},
                                 Pair{"self_attn.k_proj", "attn_k"},
                                 Pair{"self_attn.v_proj", "attn_v"},
                                 Pair{"self_attn.qkv_proj", "attn_qkv"},
                                 Pair{"self_attn.o_proj", "attn_output"},
                                 Pair{"self_attn.q_norm", "attn_q_norm"},
                                 Pair{"self_attn.k_norm", "attn_k_norm"},
                                 Pair{"mlp.gate_proj", "ffn_gate"},
                                 Pair{"mlp.up_proj", "ffn_up"},
                                 Pair{"mlp.down_proj", "ffn_down"},
                                 Pair{"mlp.gate_up_proj", "ffn_up"},
                                 Pair{"block_sparse_moe.gate", "ffn_gate_inp"},
                                 Pair{"mlp.gate", "ffn_gate_inp"}};

constexpr std::array kTwoNorms = {Pair{"post_attention_layernorm", "ffn_norm"}};
constexpr std::array kFourNorms = {Pair{"post_attention_layernorm", "post_attention_norm"},
                                   Pair{"pre_feedforward_layernorm", "ffn_norm"},
                                   Pair{"post_feedforward_layernorm", "post_ffw_norm"}};

// Of one expert, behind its number: "block_sparse_moe.experts.3.w1" is "ffn_gate.3".
constexpr std::array kBlockExpert = {Pair{"w1", "ffn_gate"}, Pair{"w3", "ffn_up"}, Pair{"w2", "ffn_down"}};
constexpr std::array kMlpExpert = {Pair{"gate_proj", "ffn_gate"}, Pair{"up_proj", "ffn_up"},
                                   Pair{"down_proj", "ffn_down"}};
constexpr std::string_view kBlockExperts = "block_sparse_moe.experts.";
constexpr std::string_view kMlpExperts = "mlp.experts.";

std::optional<std::string_view> after(std::string_view text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  return text.substr(prefix.size());
}

/// Cuts the text at its first dot when digits stand before it: "12.rest" is "12" and "rest".
struct Numbered {
  std::string_view number;
  std::string_view rest;
};
std::optional<Numbered> numbered(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || dot == 0) return std::nullopt;
  const std::string_view number = text.substr(0, dot);
  if (!std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c) != 0; })) return std::nullopt;
  return Numbered{number, text.substr(dot + 1)};
}

/// The name without its end, and the end: ".weight" or ".bias", or nothing.
struct Ended {
  std::string_view stem;
  std::string_view end;
};
Ended ended(std::string_view name) {
  for (const std::string_view end : {".weight", ".bias"}) {
    if (name.ends_with(end)) return {name.substr(0, name.size() - end.size()), end};
  }
  return {name, ""};
}

std::optional<std::string_view> gguf_in(std::span<const Pair> pairs, std::string_view hf) {
  const auto found = std::ranges::find(pairs, hf, &Pair::hf);
  return found == pairs.end() ? std::nullopt : std::optional(found->gguf);
}
std::optional<std::string_view> hf_in(std::span<const Pair> pairs, std::string_view gguf) {
  const auto found = std::ranges::find(pairs, gguf, &Pair::gguf);
  return found == pairs.end() ? std::nullopt : std::optional(found->hf);
}

std::string joined(std::initializer_list<std::string_view> parts) {
  std::string text;
  for (const std::string_view part : parts) text += part;
  return text;
}

std::span<const Pair> norms(bool has_four) {
  return has_four ? std::span<const Pair>(kFourNorms) : std::span<const Pair>(kTwoNorms);
}

/// Part of a layer's name: "mlp.experts.3.up_proj" gives "ffn_up.3".
std::optional<std::string> layer_part_to_gguf(std::string_view part, bool has_four_norms) {
  for (const bool is_block : {true, false}) {
    const auto behind = after(part, is_block ? kBlockExperts : kMlpExperts);
    const auto expert = behind.has_value() ? numbered(*behind) : std::nullopt;
    if (!expert.has_value()) continue;
    const auto gguf = gguf_in(is_block ? kBlockExpert : kMlpExpert, expert->rest);
    return gguf.has_value() ? std::optional(joined({*gguf, ".", expert->number})) : std::nullopt;
  }
  auto gguf = gguf_in(kInLayer, part);
  if (!gguf.has_value()) gguf = gguf_in(norms(has_four_norms), part);
  return gguf.has_value() ? std::optional(std::string(*gguf)) : std::nullopt;
}

}  // namespace

HfNames::HfNames(std::string_view model_type)
    : has_four_norms_(model_type.starts_with("gemma3")),
      has_images_(model_type == "gemma3"),
      has_block_experts_(model_type == "mixtral"),
      has_fused_gate_(model_type == "phi3") {}

std::optional<std::string> HfNames::to_gguf(std::string_view name) const {
  if (name.ends_with(".rotary_emb.inv_freq")) return std::nullopt;
  std::string text_name(name);
  if (has_images_) {
    // Older files put the text model's prefix before "model.", newer ones behind it.
    if (const auto rest = after(name, "language_model.")) text_name = *rest;
    if (const auto rest = after(name, "model.language_model.")) text_name = joined({"model.", *rest});
    for (const std::string_view part : {"vision_tower.", "multi_modal_projector."}) {
      if (name.starts_with(part) || name.starts_with(joined({"model.", part}))) return std::nullopt;
    }
  }
  const Ended whole = ended(text_name);
  if (const auto gguf = gguf_in(kWhole, whole.stem)) return joined({*gguf, whole.end});
  const auto behind = after(whole.stem, "model.layers.");
  const auto layer = behind.has_value() ? numbered(*behind) : std::nullopt;
  if (layer.has_value()) {
    const auto part = layer_part_to_gguf(layer->rest, has_four_norms_);
    if (part.has_value()) return joined({"blk.", layer->number, ".", *part, whole.end});
  }
  return text_name;
}

std::string HfNames::from_gguf(std::string_view name) const {
  const Ended whole = ended(name);
  if (const auto hf = hf_in(kWhole, whole.stem)) return joined({*hf, whole.end});
  const auto behind = after(whole.stem, "blk.");
  const auto layer = behind.has_value() ? numbered(*behind) : std::nullopt;
  if (!layer.has_value()) return std::string(name);
  const std::string prefix = joined({"model.layers.", layer->number, "."});
  if (layer->rest == "ffn_gate_inp" && !has_block_experts_) return joined({prefix, "mlp.gate", whole.end});
  if (layer->rest == "ffn_up" && has_fused_gate_) return joined({prefix, "mlp.gate_up_proj", whole.end});
  auto hf = hf_in(kInLayer, layer->rest);
  if (!hf.has_value()) hf = hf_in(norms(has_four_norms_), layer->rest);
  if (hf.has_value()) return joined({prefix, *hf, whole.end});
  const size_t dot = layer->rest.rfind('.');
  if (dot == std::string_view::npos) return std::string(name);
  const auto expert = hf_in(has_block_experts_ ? kBlockExpert : kMlpExpert, layer->rest.substr(0, dot));
  if (!expert.has_value()) return std::string(name);
  const std::string_view experts = has_block_experts_ ? kBlockExperts : kMlpExperts;
  return joined({prefix, experts, layer->rest.substr(dot + 1), ".", *expert, whole.end});
}

}  // namespace sluice::engine
