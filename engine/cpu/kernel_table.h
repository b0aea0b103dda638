#pragma once

#include "engine/cpu/attention_kernels.h"
#include "engine/cpu/dot_float.h"
#include "engine/cpu/elementwise_kernels.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/logit_weights.h"
#include "engine/cpu/stored_element.h"

namespace sluice::engine::cpu {

/// An instruction set's own products with quantised weights.
struct QuantizedProducts {
  Activations take = Activations::kInt8;
  Dot q4_0 = nullptr;
  Dot q4_1 = nullptr;
  Dot q8_0 = nullptr;
  void (*begin)() = need_nothing;
  void (*end)() = need_nothing;
};

/// The table of an instruction set: those, and what is generic over its vectors.
template <typename V>
constexpr Kernels make_kernels(const QuantizedProducts& products) {
  return {.quantized_weights_take = products.take,
          .begin_products = products.begin,
          .end_products = products.end,
          .dot_q4_0 = products.q4_0,
          .dot_q4_1 = products.q4_1,
          .dot_q8_0 = products.q8_0,
          .dot_f32 = dot_float<V, F32<V>>,
          .dot_f16 = dot_float<V, F16<V>>,
          .dot_bf16 = dot_float<V, Bf16<V>>,
          .quantize = quantize<V>,
          .rms_norm = rms_norm<V>,
          .rotate_pairs = rotate_pairs<V>,
          .rotate_halves = rotate_halves<V>,
          .silu_multiply = silu_multiply<V>,
          .panel_tops = panel_tops<V>,
          .logits = {.weigh = weigh_logits<V>, .collect = collect_logits},
          .store_f16 = store_f16<V>,
          .store_bf16 = store_bf16<V>,
          .store_int8 = store_int8<V>,
          .f16 = {attend<V, F16>, attend_span<V, F16>},
          .bf16 = {attend<V, Bf16>, attend_span<V, Bf16>},
          .int8 = {attend<V, Int8>, attend_span<V, Int8>},
          .merge_spans = merge_spans<V>};
}

}  // namespace sluice::engine::cpu
