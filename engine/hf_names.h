#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine {

/// How the tensors of a Hugging Face folder are called and what GGUF calls them.
class HfNames {
 public:
  /// `model_type` as in config.json; one that hf_config.h knows.
  explicit HfNames(std::string_view model_type);

  /// GGUF's name ("blk.0.attn_q.weight"), or the same name where GGUF has none. nullopt for what a text model has no
  /// use for: stored rotary frequencies, and the image part of Gemma 3.
  std::optional<std::string> to_gguf(std::string_view name) const;
  /// The Hugging Face name of a tensor that GGUF calls so, or the same name where there is none.
  std::string from_gguf(std::string_view name) const;

 private:
  bool has_four_norms_ = false;  ///< Gemma 3's layers
  bool has_images_ = false;
  bool has_block_experts_ = false;  ///< experts are called as Mixtral's are
  bool has_fused_gate_ = false;     ///< gate and up projection are one matrix
};

}  // namespace sluice::engine
