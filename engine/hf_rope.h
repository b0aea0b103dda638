#pragma once

#include <cstdint>

#include "engine/config_fields.h"
#include "engine/model_config.h"

namespace sluice::engine {

/// What a family's own library knows of rotary settings.
struct HfRopeRules {
  double base = 10000.0;     ///< where config.json says nothing
  bool turns_parts = false;  ///< a part of each head may turn: partial_rotary_factor
  bool scales = true;        ///< types other than default
};

/// Reads the rotary settings into rope, window_rope and rope_dim; head_dim and context_length are known. Understands
/// `rope_parameters`, flat or by layer type, and the older `rope_theta` beside `rope_scaling`. Types other than
/// default, linear, llama3 and yarn are refused by name, and so is a setting that none of them has. Meanings are those
/// of transformers' modeling_rope_utils.py.
void read_hf_rope(const ConfigFields& fields, const HfRopeRules& rules, ModelConfig& config);

/// The same for Gemma 3, whose layers with a window have angles of their own.
void read_hf_gemma_rope(const ConfigFields& fields, ModelConfig& config);

}  // namespace sluice::engine
