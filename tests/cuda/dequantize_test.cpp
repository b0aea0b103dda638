#include "engine/cuda/kernels/dequantize.cuh"

#include <span>

#include <gtest/gtest.h>

#include "engine/tensor_type.h"
#include "tests/cuda/kernel_data.h"
#include "tests/cuda/random_blocks.h"

namespace sluice::engine::cuda {
namespace {

template <typename Out>
std::vector<Out> run_dequantize(TensorType type, const std::vector<uint8_t>& blocks, int64_t count) {
  return run_in_all_orders([&](void* stream) {
    GuardedBuffer<Out> buffer(count * traits_of(type).block_elements);
    const DequantizeArgs<Out> args{.blocks = blocks.data(), .out = buffer.data(), .block_count = count};
    EXPECT_EQ(launch_dequantize(type, args, stream), 0);
    return buffer.take();
  });
}

TEST(DequantizeKernel, GivesWhatTheFormatDefinesBitForBit) {
  for (const TensorType type : kQuantizedTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    Random random(static_cast<uint32_t>(type));
    for (const int64_t count : {int64_t{1}, int64_t{2}, 77 * int64_t{32} / traits_of(type).block_elements}) {
      const auto blocks = random_blocks(type, count, random);
      std::vector<float> expected(static_cast<size_t>(count * traits_of(type).block_elements));
      dequantize(type, std::as_bytes(std::span(blocks)), expected);
      EXPECT_TRUE(is_same(run_dequantize<float>(type, blocks, count), expected));
      std::vector<gpu::Bf16> rounded;
      for (const float value : expected) rounded.push_back({float_to_bf16(value)});
      EXPECT_TRUE(is_same(run_dequantize<gpu::Bf16>(type, blocks, count), rounded));
    }
  }
}

template <TensorType kType>
bool is_known_format() {
  const TensorTypeTraits traits = traits_of(kType);
  return BlockFormat<kType>::kBytes == traits.block_bytes && BlockFormat<kType>::kElements == traits.block_elements;
}

TEST(DequantizeKernel, KnowsTheSizeOfBlocks) {
  constexpr auto kChecks =
      per_quantized_type<bool (*)()>([](auto tag) { return is_known_format<decltype(tag)::kType>; });
  for (const TensorType type : kQuantizedTypes) EXPECT_TRUE(kChecks[type]()) << tensor_type_name(type);
}

}  // namespace
}  // namespace sluice::engine::cuda
