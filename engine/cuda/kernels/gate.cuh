#pragma once

#include <cstdint>

#include "engine/cuda/kernels/group.cuh"
#include "engine/model_config.h"

namespace sluice::engine::cuda {

/// out[t] = activation(gate[t]) * up[t]
template <typename In, typename Out>
struct GateArgs {
  const In* gate_up = nullptr;  // [tokens, 2, width]: gate, then up
  Out* out = nullptr;           // [tokens, width]
  int32_t tokens = 0;
  int32_t width = 0;  ///< at most kGateWidthMax
  GateActivation activation = GateActivation::kSilu;
};

constexpr int32_t kGateThreads = 256;
constexpr int32_t kGateWidthMax = 65535 * kGateThreads * kGroup;

/// x times the sigmoid of slope.
GPU_DEVICE float times_sigmoid(float x, float slope) {
  return x / (1.0F + gpu::exp(-slope));
}

/// SiLU, or GELU by tanh: (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)).
template <GateActivation kActivation>
GPU_DEVICE float activate(float x) {
  if constexpr (kActivation == GateActivation::kSilu) return times_sigmoid(x, x);
  constexpr float kTwiceRoot = 1.5957691216F;  // 2 sqrt(2 / pi)
  return times_sigmoid(x, kTwiceRoot * (x + 0.044715F * x * x * x));
}

/// A thread to a group.
template <GateActivation kActivation, typename In, typename Out>
GPU_KERNEL(kGateThreads)
void gate_kernel(GateArgs<In, Out> args) {
  gpu::wait_for_previous_kernel();
  gpu::start_next_kernel();
  const auto [token, at, left] = RowGroup::of_thread(args.width);
  if (left <= 0) return;
  const In* gate_row = args.gate_up + token * 2 * args.width;
  float gate[kGroup];
  float up[kGroup];
  load_group(gate_row + at, left, gate);
  load_group(gate_row + args.width + at, left, up);
  for (int32_t i = 0; i < kGroup; ++i) gate[i] = activate<kActivation>(gate[i]) * up[i];
  store_group(args.out + token * args.width + at, left, gate);
}

template <typename In, typename Out>
int32_t launch_gate(const GateArgs<In, Out>& args, void* stream) {
  const gpu::Launch how = row_groups_launch(args.tokens, args.width, kGateThreads, stream);
  if (args.activation == GateActivation::kSilu)
    return gpu::launch<gate_kernel<GateActivation::kSilu, In, Out>>(how, args);
  return gpu::launch<gate_kernel<GateActivation::kGeluTanh, In, Out>>(how, args);
}

}  // namespace sluice::engine::cuda
