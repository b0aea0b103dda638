#include "engine/cuda/block_products.h"

#include <cmath>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/quant_scheme.h"
#include "tests/cuda/kernel_data.h"

namespace sluice::engine::cuda {
namespace {

constexpr int32_t kOutputs = 5;

struct BlockCase {
  BlockCase(TensorType block_type, int32_t blocks, Random& random)
      : type(block_type),
        length(blocks * traits_of(type).block_elements),
        stored(static_cast<size_t>(kOutputs * blocks * traits_of(type).block_bytes)),
        weights(static_cast<size_t>(kOutputs * length)),
        in(random.numbers<gpu::Bf16>(int64_t{kGemvRowsMax} * length)) {
    // Exponents of halves up to 15: scales of at most 2.
    for (uint8_t& byte : stored) byte = static_cast<uint8_t>(random.integer(0, 255) & 0xbf);
    dequantize(type, std::as_bytes(std::span(stored)), weights);
  }

  std::vector<float> run(int32_t rows, void* stream) const {
    const std::vector<gpu::Bf16> some(in.begin(), in.begin() + int64_t{rows} * length);
    GuardedBuffer<float> out(int64_t{rows} * kOutputs);
    const GemvArgs<gpu::Bf16, float> args{
        .in = some.data(), .out = out.data(), .rows = rows, .outputs = kOutputs, .length = length};
    EXPECT_EQ(launch_block_gemv(type, stored.data(), args, stream), 0);
    return out.take();
  }

  void expect_products(int32_t rows, const std::vector<float>& out) const {
    for (int32_t m = 0; m < rows; ++m) {
      for (int32_t n = 0; n < kOutputs; ++n) {
        double expected = 0;
        double magnitude = 0;
        for (int32_t k = 0; k < length; ++k) {
          const double product = value_of(in, m * length + k) * double{weights[static_cast<size_t>(n * length + k)]};
          expected += product;
          magnitude += std::fabs(product);
        }
        ASSERT_NEAR(value_of(out, m * kOutputs + n), expected, magnitude * 1e-6) << "row " << m << ", output " << n;
      }
    }
  }

  TensorType type;
  int32_t length;
  std::vector<uint8_t> stored;
  std::vector<float> weights;  // [kOutputs, length]
  std::vector<gpu::Bf16> in;   // [kGemvRowsMax, length]
};

TEST(BlockProducts, AreThoseOfTheNumbersThatBlocksOfAnyTypeStandFor) {
  for (const TensorType type : kQuantizedTypes) {
    Random random(static_cast<uint32_t>(type));
    for (const int32_t blocks : {1, 5}) {
      const BlockCase products(type, blocks, random);
      for (const int32_t rows : {1, 2, 3, 8}) {
        SCOPED_TRACE(testing::Message() << tensor_type_name(type) << ", " << rows << " rows of " << products.length);
        products.expect_products(rows, run_in_all_orders([&](void* stream) { return products.run(rows, stream); }));
      }
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cuda
