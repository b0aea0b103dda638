#include "server/backend_choice.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using engine::cuda::Element;

TEST(CudaOptionsOfConfig, KeepWeightsAsTheConfigurationSays) {
  const engine::CudaOptions plain = cuda_options({});
  EXPECT_EQ(plain.element, Element::kBf16);
  EXPECT_FALSE(plain.keeps_blocks);
  const engine::CudaOptions fp8 = cuda_options({.cuda_weights = "fp8"});
  EXPECT_EQ(fp8.element, Element::kFp8);
  EXPECT_FALSE(fp8.keeps_blocks);
  const engine::CudaOptions stored = cuda_options({.cuda_weights = "stored"});
  EXPECT_EQ(stored.element, Element::kBf16);
  EXPECT_TRUE(stored.keeps_blocks);
  EXPECT_GT(stored.gemv_rows_max, plain.gemv_rows_max);
}

TEST(CudaOptionsOfConfig, HaveOnePathForAnyNumberOfRowsWhereItsInvariant) {
  for (const char* const weights : {"bf16", "fp8", "stored"}) {
    EXPECT_GT(cuda_options({.cuda_weights = weights}).gemv_rows_max, 0);
    EXPECT_EQ(cuda_options({.cuda_batch_invariant = true, .cuda_weights = weights}).gemv_rows_max, 0);
  }
}

}  // namespace
}  // namespace sluice::server
