// The attention kernels that models need, for nvcc to compile: registers and spills are in what -Xptxas -v prints.
#include "engine/cuda/kernels/attention_launch.cuh"

namespace sluice::engine::cuda {
namespace {

using gpu::Bf16;
using gpu::Fp8;
using gpu::Half;

template <int32_t kHeadDim, typename Query, typename Element, typename Out>
int32_t decode() {
  return launch_decode_attention<kHeadDim>(DecodeArguments<Query, Element, Out>{}, {.rows = 1}, 2);
}

template <int32_t kHeadDim, typename Element>
int32_t prefill() {
  return launch_prefill_attention<kHeadDim>(PrefillArguments<Element, Bf16>{}, {.rows = 1}, 1);
}

template <int32_t kHeadDim>
int32_t both() {
  return decode<kHeadDim, Bf16, Bf16, Bf16>() + prefill<kHeadDim, Bf16>();
}

}  // namespace

int32_t launch_all() {
  return both<64>() + both<80>() + both<128>() + both<256>() + decode<256, float, float, float>() +
         decode<128, Bf16, Fp8, Bf16>() + prefill<128, Fp8>() + prefill<64, Half>() + prefill<256, float>();
}

}  // namespace sluice::engine::cuda
