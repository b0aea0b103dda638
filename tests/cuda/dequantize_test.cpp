#include "engine/cuda/kernels/dequantize.cuh"

#include <iterator>
#include <span>

#include <gtest/gtest.h>

#include "engine/tensor_type.h"
#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

/// Any bytes, so scales of all sizes. Halves that are no numbers are made ones, as the bits of a NaN are not promised.
std::vector<uint8_t> random_blocks(TensorType type, int64_t count, Random& random) {
  const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
  std::vector<uint8_t> blocks(static_cast<size_t>(count) * block_bytes);
  for (uint8_t& byte : blocks) byte = static_cast<uint8_t>(random.integer(0, 255));
  for (size_t begin = 0; begin < blocks.size(); begin += block_bytes) {
    for (size_t at = 0; at + 1 < block_bytes; ++at) {
      // Wherever d and m are, the exponent is in the upper byte.
      if ((blocks[begin + at + 1] & 0x7cU) == 0x7cU) blocks[begin + at + 1] ^= 0x40U;
    }
  }
  if (type != TensorType::kMxfp4) return blocks;
  // Its exponents at both ends: subnormal scales, and infinite numbers.
  const uint8_t exponents[] = {0, 1, 2, 254, 255};
  for (size_t i = 0; i < std::size(exponents) && i * block_bytes < blocks.size(); ++i) {
    blocks[i * block_bytes] = exponents[i];
  }
  return blocks;
}

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
