#pragma once

#include "engine/cpu/attention_kernels.h"
#include "engine/cpu/dot_float.h"
#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/logit_weights.h"
#include "engine/cpu/stored_element.h"

namespace sluice::engine::cpu {

template <typename V>
consteval PerType<Dot> dot_floats() {
  PerType<Dot> dots;
  dots[TensorType::kF32] = dot_float<V, F32<V>>;
  dots[TensorType::kF16] = dot_float<V, F16<V>>;
  dots[TensorType::kBf16] = dot_float<V, Bf16<V>>;
  return dots;
}

/// The table of an instruction set: its own products with quantised weights, and what is generic over its vectors.
template <typename V>
constexpr Kernels make_kernels(const QuantizedProducts& decode) {
  return {.decode = decode,
          .prompt = {},
          .dot_float = dot_floats<V>(),
          .quantize = quantize<V>,
          .to_halves = to_halves<V>,
          .put_panel = put_panel<V>,
          .add_panel = add_panel<V>,
          .rms_norm = rms_norm<V>,
          .rotate_pairs = rotate_pairs<V>,
          .rotate_halves = rotate_halves<V>,
          .silu_multiply = silu_multiply<V>,
          .gelu_multiply = gelu_multiply<V>,
          .panel_tops = panel_tops<V>,
          .logits = {.weigh = weigh_logits<V>, .collect = collect_logits},
          .store_f16 = store_f16<V>,
          .store_bf16 = store_bf16<V>,
          .store_int8 = store_int8<V>,
          .f32 = {attend<V, F32>, attend_span<V, F32>, attend<V, F32>},
          .f16 = {attend<V, F16>, attend_span<V, F16>, attend<V, F16>},
          .bf16 = {attend<V, Bf16>, attend_span<V, Bf16>, attend<V, Bf16>},
          .int8 = {attend<V, Int8>, attend_span<V, Int8>, attend<V, Int8>},
          .merge_spans = merge_spans<V>};
}

}  // namespace sluice::engine::cpu
