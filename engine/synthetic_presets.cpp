#include "engine/synthetic_presets.h"

#include <algorithm>
#include <array>

namespace sluice::engine {
namespace {

struct Preset {
  std::string_view name;
  std::string_view config;
};

// What the models' own config.json say, as far as it is read.
constexpr std::array kPresets = {
    Preset{"llama-3.2-1b", R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 16,
        "hidden_size": 2048, "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 8,
        "head_dim": 64, "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000,
        "rope_scaling": {"rope_type": "llama3", "factor": 32, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192}, "tie_word_embeddings": true})"},
    Preset{"llama-3.1-8b", R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 32,
        "hidden_size": 4096, "intermediate_size": 14336, "num_attention_heads": 32, "num_key_value_heads": 8,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000,
        "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192}, "tie_word_embeddings": false})"},
    Preset{"llama-3.1-70b", R"({"model_type": "llama", "vocab_size": 128256, "num_hidden_layers": 80,
        "hidden_size": 8192, "intermediate_size": 28672, "num_attention_heads": 64, "num_key_value_heads": 8,
        "max_position_embeddings": 131072, "rms_norm_eps": 1e-5, "rope_theta": 500000,
        "rope_scaling": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 1, "high_freq_factor": 4,
        "original_max_position_embeddings": 8192}, "tie_word_embeddings": false})"},
    Preset{"smollm2-135m", R"({"model_type": "llama", "vocab_size": 49152, "num_hidden_layers": 30,
        "hidden_size": 576, "intermediate_size": 1536, "num_attention_heads": 9, "num_key_value_heads": 3,
        "max_position_embeddings": 8192, "rms_norm_eps": 1e-5, "rope_theta": 100000, "tie_word_embeddings": true})"},
    Preset{"tiny", R"({"model_type": "llama", "vocab_size": 512, "num_hidden_layers": 2, "hidden_size": 256,
        "intermediate_size": 512, "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-5, "rope_theta": 10000, "tie_word_embeddings": true})"}};

}  // namespace

std::optional<std::string_view> synthetic_preset(std::string_view name) {
  const auto* const found = std::ranges::find(kPresets, name, &Preset::name);
  return found == kPresets.end() ? std::nullopt : std::optional(found->config);
}

std::string synthetic_preset_names() {
  std::string names;
  for (const Preset& preset : kPresets) {
    const std::string_view before = names.empty() ? "" : &preset == &kPresets.back() ? " and " : ", ";
    names += std::string(before) + std::string(preset.name);
  }
  return names;
}

}  // namespace sluice::engine
