#include "engine/hf_rope.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "engine/model_limits.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr double kFactorMax = 1e6;
constexpr double kGlobalBase = 1e6;  // of Gemma 3's layers without a window
constexpr double kWindowBase = 1e4;

/// The name of the scaling; empty when there is none. Older files say `type`.
std::string type_of(const ConfigFields& rope) {
  const std::string type = rope.text_or("rope_type", rope.text_or("type", "default"));
  return type == "default" ? "" : type;
}

double factor_of(const ConfigFields& rope) {
  return rope.real("factor", 1.0, kFactorMax);
}

/// What the settings are read with.
struct Surroundings {
  double base = 0;               ///< counts when the settings have no rope_theta of their own
  int32_t original_context = 0;  ///< likewise
  bool scales = true;
};

int32_t original_context(const ConfigFields& rope, const Surroundings& around) {
  return rope.count_or("original_max_position_embeddings", kContextMax, around.original_context);
}

void read_linear(const ConfigFields& rope, RopeConfig& result) {
  rope.refuse_others({"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor"});
  result.scaling = RopeScaling::kLinear;
  result.factor = factor_of(rope);
}

void read_llama3(const ConfigFields& rope, const Surroundings& around, RopeConfig& result) {
  rope.refuse_others({"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "low_freq_factor",
                      "high_freq_factor", "original_max_position_embeddings"});
  result.scaling = RopeScaling::kLlama3;
  result.factor = factor_of(rope);
  result.original_context = original_context(rope, around);
  result.low_frequency_factor = rope.real("low_freq_factor", 1e-6, kFactorMax);
  result.high_frequency_factor = rope.real("high_freq_factor", 1e-6, kFactorMax);
  if (rope.ok() && result.high_frequency_factor <= result.low_frequency_factor) {
    rope.fail("high_freq_factor", "must be above low_freq_factor");
  }
}

/// What queries and keys are multiplied with. Files of DeepSeek's kind give it as a quotient of two.
double yarn_magnitude_of(const ConfigFields& rope, double factor) {
  if (rope.has("attention_factor")) return rope.real("attention_factor", 1e-6, kFactorMax);
  const double above = rope.real_or("mscale", 0, kFactorMax, 0);
  const double below = rope.real_or("mscale_all_dim", 0, kFactorMax, 0);
  if (above == 0 || below == 0) return yarn_magnitude(factor);
  return (0.1 * above * std::log(factor) + 1.0) / (0.1 * below * std::log(factor) + 1.0);
}

void read_yarn(const ConfigFields& rope, const Surroundings& around, RopeConfig& result) {
  rope.refuse_others({"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor", "beta_fast", "beta_slow",
                      "attention_factor", "mscale", "mscale_all_dim", "truncate", "original_max_position_embeddings"});
  result.scaling = RopeScaling::kYarn;
  result.factor = factor_of(rope);
  result.original_context = original_context(rope, around);
  result.beta_fast = rope.real_or("beta_fast", 1e-6, kFactorMax, 32);
  result.beta_slow = rope.real_or("beta_slow", 1e-6, kFactorMax, 1);
  result.is_ramp_whole = rope.flag_or("truncate", true);
  result.magnitude = yarn_magnitude_of(rope, result.factor);
  if (rope.ok() && result.beta_fast < result.beta_slow) rope.fail("beta_fast", "must not be below beta_slow");
  if (rope.ok() && result.base <= 1) rope.fail("rope_theta", "must be above 1 with yarn");
}

/// One flat object of settings.
RopeConfig read_flat(const ConfigFields& rope, const Surroundings& around) {
  RopeConfig result;
  result.base = rope.real_or("rope_theta", 1.0, kRopeBaseMax, around.base);
  const std::string type = type_of(rope);
  if (type.empty()) {
    rope.refuse_others({"rope_type", "type", "rope_theta", "partial_rotary_factor"});
  } else if (type == "linear" && around.scales) {
    read_linear(rope, result);
  } else if (type == "llama3" && around.scales) {
    read_llama3(rope, around, result);
  } else if (type == "yarn" && around.scales) {
    read_yarn(rope, around, result);
  } else {
    rope.fail("rope_type", "is \"" + printable_name(type) + "\", but this family is only known with " +
                               (around.scales ? "default, linear, llama3 and yarn" : "default"));
  }
  return result;
}

/// As transformers does, rope_scaling wins where a file has both spellings.
std::optional<ConfigFields> settings(const ConfigFields& fields) {
  return fields.has("rope_scaling") ? fields.object("rope_scaling") : fields.object("rope_parameters");
}

/// Elements of a head that turn.
int32_t turning_elements(const ConfigFields& fields, const std::optional<ConfigFields>& rope, bool turns_parts,
                         int32_t head_dim) {
  const double outer = fields.real_or("partial_rotary_factor", 0, 1, 1);
  const double share = rope.has_value() ? rope->real_or("partial_rotary_factor", 0, 1, outer) : outer;
  if (share != 1 && !turns_parts) fields.fail("partial_rotary_factor", "is not 1, which this family doesn't know");
  const auto elements = static_cast<int32_t>(head_dim * share);
  if (elements >= 2 && elements % 2 == 0) return elements;
  fields.fail("partial_rotary_factor", "gives " + std::to_string(elements) +
                                           " elements of a head that turn, but they must be even and at least 2");
  return 2;
}

/// True when the settings are given for each type of layer.
bool is_nested(const ConfigFields& rope) {
  return rope.has("full_attention") || rope.has("sliding_attention");
}

/// The settings of one type of layer, which must not be missing where layers of that type are.
RopeConfig read_layer_type(const ConfigFields& rope, std::string_view type, const Surroundings& around,
                           bool is_needed) {
  const std::optional<ConfigFields> own = rope.object(type);
  if (!own.has_value()) {
    if (is_needed) rope.fail(type, "is missing, but there are layers of that type");
    return RopeConfig{};
  }
  if (own->real_or("partial_rotary_factor", 0, 1, 1) != 1) {
    own->fail("partial_rotary_factor", "is not 1, which is not supported for one type of layers");
  }
  return read_flat(*own, around);
}

void read_nested(const ConfigFields& rope, const Surroundings& around, const Surroundings& window_around,
                 ModelConfig& config) {
  rope.refuse_others({"full_attention", "sliding_attention"});
  const auto windows = std::count(config.layer_has_window.begin(), config.layer_has_window.end(), true);
  config.rope = read_layer_type(rope, "full_attention", around, windows < config.layer_count);
  config.window_rope = read_layer_type(rope, "sliding_attention", window_around, windows > 0);
}

}  // namespace

void read_hf_rope(const ConfigFields& fields, const HfRopeRules& rules, ModelConfig& config) {
  // Where nobody says what the unscaled model's context was, transformers takes the model's own.
  const Surroundings around{
      .base = fields.real_or("rope_theta", 1.0, kRopeBaseMax, rules.base),
      .original_context = fields.count_or("original_max_position_embeddings", kContextMax, config.context_length),
      .scales = rules.scales};
  const std::optional<ConfigFields> rope = settings(fields);
  const bool has_types = rope.has_value() && is_nested(*rope);
  if (has_types) {
    read_nested(*rope, around, around, config);
  } else {
    config.rope.base = around.base;
    if (rope.has_value()) config.rope = read_flat(*rope, around);
    config.window_rope = config.rope;
  }
  config.rope_dim = turning_elements(fields, has_types ? std::nullopt : rope, rules.turns_parts, config.head_dim);
}

void read_hf_gemma_rope(const ConfigFields& fields, ModelConfig& config) {
  const Surroundings around{.base = fields.real_or("rope_theta", 1.0, kRopeBaseMax, kGlobalBase),
                            .original_context = config.context_length};
  const Surroundings window_around{.base = fields.real_or("rope_local_base_freq", 1.0, kRopeBaseMax, kWindowBase),
                                   .original_context = config.context_length};
  config.rope.base = around.base;
  config.window_rope.base = window_around.base;
  const std::optional<ConfigFields> by_type = fields.object("rope_parameters");
  // The older spelling scales the layers without a window alone.
  const std::optional<ConfigFields> scaling = fields.object("rope_scaling");
  if (by_type.has_value() && scaling.has_value()) fields.fail("rope_scaling", "is there beside rope_parameters");
  if (by_type.has_value()) read_nested(*by_type, around, window_around, config);
  if (scaling.has_value()) config.rope = read_flat(*scaling, around);
  config.rope_dim = turning_elements(fields, std::nullopt, false, config.head_dim);
}

}  // namespace sluice::engine
