#include "engine/cuda/kernels/gate.cuh"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

double activated(GateActivation activation, double x) {
  if (activation == GateActivation::kSilu) return x / (1 + std::exp(-x));
  const double pi = std::acos(-1.0);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * x * x * x)));
}

template <typename In, typename Out>
void expect_gate(GateActivation activation, int32_t width, int64_t shift) {
  SCOPED_TRACE(testing::Message() << "width " << width << ", shift " << shift);
  constexpr int32_t kTokens = 3;
  Random random(8);
  auto gate_up = random.numbers<In>(kTokens * 2 * width, -9, 9);
  gate_up[0] = gpu::from_float<In>(-200);  // whose exponential is infinite
  const auto out = run_in_all_orders([&](void* stream) {
    GuardedBuffer<Out> buffer(kTokens * width, shift);
    const GateArgs<In, Out> args{
        .gate_up = gate_up.data(), .out = buffer.data(), .tokens = kTokens, .width = width, .activation = activation};
    EXPECT_EQ(launch_gate(args, stream), 0);
    return buffer.take();
  });
  for (int32_t t = 0; t < kTokens; ++t) {
    for (int32_t i = 0; i < width; ++i) {
      const int64_t gate_at = int64_t{t} * 2 * width + i;
      const double up = value_of(gate_up, gate_at + width);
      const double expected = activated(activation, value_of(gate_up, gate_at)) * up;
      ASSERT_NEAR(value_of(out, int64_t{t} * width + i), expected, std::fabs(expected) * kRounding<Out> + 1e-5)
          << "token " << t << ", element " << i;
    }
  }
}

TEST(GateKernel, MultipliesActivatedGateByUp) {
  for (const GateActivation activation : {GateActivation::kSilu, GateActivation::kGeluTanh}) {
    for (const int32_t width : {1, 8, 13, 96, 2056, 2051}) {
      for (const int64_t shift : {0, 1}) {
        expect_gate<gpu::Bf16, gpu::Bf16>(activation, width, shift);
        expect_gate<float, float>(activation, width, shift);
      }
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
