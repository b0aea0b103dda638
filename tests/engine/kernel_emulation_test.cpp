#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/kernel_check.h"
#include "engine/cpu/kernels.h"
#include "tests/engine/emulated_kernels.h"
#include "tests/engine/kernel_data.h"
#include "tests/engine/logit_kernels_contract.h"

// Each instruction set's kernel sources run here on every machine; where the machine has the instructions too, both
// give the same bits. What the kernels compute is checked against references in cpu_ops_test.cpp and
// cpu_attention_test.cpp.

namespace sluice::engine::cpu {
namespace {

class KernelEmulation : public ::testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    const std::vector<CpuIsa> available = available_cpu_isas();
    if (std::find(available.begin(), available.end(), GetParam()) == available.end()) {
      GTEST_SKIP() << "this machine has no " << cpu_isa_name(GetParam());
    }
  }

  const Kernels& native() const { return kernels_for(GetParam()); }
  const Kernels& emulated() const { return emulated_kernels(GetParam()); }

  Random random_{11};
};

std::vector<float> product(Dot dot, const std::vector<std::byte>& panel, const TestColumns& columns, int32_t count) {
  std::vector<float> out(static_cast<size_t>((count + 15) / 16 * 16 * kPanelRows));
  dot(panel.data(), columns.view(), count, out.data());
  out.resize(static_cast<size_t>(count * kPanelRows));
  return out;
}

std::vector<float> product(const QuantizedProducts& products, TensorType type, const std::vector<std::byte>& panel,
                           const TestColumns& columns, int32_t count) {
  products.begin();
  std::vector<float> out = product(products.dot[type], panel, columns, count);
  products.end();
  return out;
}

/// Of the panel and of the same once more, `step` tiles of 16 columns at a time; both halves are the same.
std::vector<float> prompt_product(const PromptProducts& products, TensorType type, const std::vector<std::byte>& panel,
                                  const TestColumns& columns, int32_t count, int32_t step = 2) {
  const int32_t blocks = columns.length / kQuantBlock;
  const int32_t tiles = (count + 15) / 16;
  std::vector<uint16_t> weights(static_cast<size_t>(columns.length * kPanelRows));
  std::vector<float> out(static_cast<size_t>(tiles * 16 * kPanelRows));
  std::vector<float> again(out.size());
  products.begin();
  products.unpack[type](panel.data(), blocks, weights.data());
  for (int32_t tile = 0; tile < tiles; tile += step) {
    const int64_t stride = int64_t{blocks} * kQuantBlock * 16;
    products.multiply({.columns = columns.halves.data() + tile * stride,
                       .rests = is_quantized(type) ? nullptr : columns.rests.data() + tile * stride,
                       .tile_stride = stride,
                       .tiles = std::min(step, tiles - tile),
                       .blocks = blocks,
                       .first = weights.data(),
                       .second = weights.data(),
                       .first_out = &out[static_cast<size_t>(tile * 16 * kPanelRows)],
                       .second_out = &again[static_cast<size_t>(tile * 16 * kPanelRows)]});
  }
  products.end();
  EXPECT_EQ(out, again);
  out.resize(static_cast<size_t>(count * kPanelRows));
  return out;
}

/// Of rows, by how many blocks they have of a type with small or with large ones.
std::vector<int32_t> lengths_of(TensorType type, const std::vector<int32_t>& small_block_counts,
                                const std::vector<int32_t>& large_block_counts) {
  const int32_t elements = traits_of(type).block_elements;
  std::vector<int32_t> lengths;
  for (const int32_t blocks : elements == kQuantBlock ? small_block_counts : large_block_counts) {
    lengths.push_back(blocks * elements);
  }
  return lengths;
}

TEST_P(KernelEmulation, QuantizedProductsAreBitEqual) {
  for (const TensorType type : kQuantizedTypes) {
    for (const int32_t length : lengths_of(type, {1, 5, 18, 35}, {1, 3, 5})) {
      const auto panel = random_panel(type, length, random_);
      for (const int32_t count : {1, 3, 4, 8, 15, 16, 17, 40}) {
        SCOPED_TRACE(tensor_type_name(type) + " length " + std::to_string(length) + " columns " +
                     std::to_string(count));
        const TestColumns columns(native(), count, length, random_);
        ASSERT_EQ(product(native().decode, type, panel, columns, count),
                  product(emulated().decode, type, panel, columns, count));
        if (!native().prompt.exist()) continue;
        const std::vector<float> prompt = prompt_product(native().prompt, type, panel, columns, count);
        ASSERT_EQ(prompt, prompt_product(native().prompt, type, panel, columns, count, 1));
        ASSERT_EQ(prompt, prompt_product(emulated().prompt, type, panel, columns, count));
      }
    }
  }
}

TEST_P(KernelEmulation, PromptProductsOfBf16WeightsAreBitEqual) {
  if (!native().prompt.exist()) GTEST_SKIP() << "prompts are computed as drawn tokens are";
  constexpr TensorType kType = TensorType::kBf16;
  for (const int32_t length : {32, 160}) {
    const auto panel = random_bf16_panel(length, random_);
    for (const int32_t count : {1, 16, 17, 40}) {
      const TestColumns columns(native(), count, length, random_);
      const std::vector<float> prompt = prompt_product(native().prompt, kType, panel, columns, count);
      ASSERT_EQ(prompt, prompt_product(native().prompt, kType, panel, columns, count, 1));
      ASSERT_EQ(prompt, prompt_product(emulated().prompt, kType, panel, columns, count));
    }
  }
}

TEST_P(KernelEmulation, FloatProductsAreBitEqual) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16}) {
    std::vector<std::byte> panel(100 * kPanelRows * sizeof(float));
    // Halves of both signs below 2, which are as good as floats.
    for (size_t i = 0; i < panel.size(); ++i) {
      panel[i] = static_cast<std::byte>(i % 2 == 0 ? random_.integer(0, 255) : random_.integer(0x30, 0x3b));
    }
    for (const int32_t count : {1, 5, 8, 13}) {
      TestColumns columns(native(), count, 96, random_);
      columns.length = 95;  // odd
      ASSERT_EQ(product(native().dot_float[type], panel, columns, count),
                product(emulated().dot_float[type], panel, columns, count));
    }
  }
}

TEST_P(KernelEmulation, QuantizingIsBitEqual) {
  Random again = random_;
  const TestColumns one(native(), 5, 320, random_);
  const TestColumns two(emulated(), 5, 320, again);
  EXPECT_EQ(one.values, two.values);
  EXPECT_EQ(one.halves, two.halves);
  EXPECT_EQ(one.rests, two.rests);
  EXPECT_EQ(one.scales, two.scales);
  EXPECT_EQ(one.sums, two.sums);
  EXPECT_EQ(one.half_sums, two.half_sums);
  EXPECT_EQ(one.offsets, two.offsets);
}

TEST_P(KernelEmulation, ElementwiseKernelsAreBitEqual) {
  for (const int32_t length : {16, 64, 96, 100, 135}) {
    SCOPED_TRACE(length);
    const std::vector<float> x = random_.floats(length, -20, 20);
    const std::vector<float> y = random_.floats(length, -2, 2);
    const auto run = [&](const Kernels& kernels) {
      std::vector<float> out(static_cast<size_t>(length));
      kernels.rms_norm(x.data(), y.data(), length, 1e-5F, out.data());
      std::vector<float> gate = x;
      kernels.silu_multiply(gate.data(), y.data(), length / 16 * 16);
      out.insert(out.end(), gate.begin(), gate.end());
      std::vector<float> weights(x.size());
      weights.push_back(
          static_cast<float>(kernels.logits.weigh(x.data(), length, {.max = 21, .temperature = 0.3F}, weights.data())));
      kernels.panel_tops(x.data(), length / 16, weights.data());
      out.insert(out.end(), weights.begin(), weights.end());
      for (const auto rotate : {kernels.rotate_pairs, kernels.rotate_halves}) {
        std::vector<float> head = x;
        rotate(head.data(), y.data(), out.data(), length / 2 * 2);
        out.insert(out.end(), head.begin(), head.end());
      }
      return out;
    };
    EXPECT_EQ(run(native()), run(emulated()));
  }
}

TEST_P(KernelEmulation, StoredElementsAreBitEqual) {
  std::vector<float> x = random_.floats(71, -300, 300);
  x[3] = 0;
  x[9] = 1e-7F;  // a denormal half
  const auto run = [&](const Kernels& kernels) {
    std::vector<uint16_t> halves(2 * x.size());
    kernels.store_f16(x.data(), 71, halves.data());
    kernels.store_bf16(x.data(), 71, &halves[x.size()]);
    std::vector<int8_t> bytes(x.size());
    const float scale = kernels.store_int8(x.data(), 71, bytes.data());
    return std::tuple(halves, bytes, scale);
  };
  EXPECT_EQ(run(native()), run(emulated()));
}

/// A cache of one head with any contents, and queries at the end of a context of 300.
class AttentionData {
 public:
  explicit AttentionData(Random& random) : cache_(kBlockBytes * kBlocks) {
    // Bytes whose halves, int8 values and float scales are all of ordinary size.
    for (size_t i = 0; i < cache_.size(); ++i) {
      cache_[i] = static_cast<std::byte>(i % 2 == 0 ? random.integer(0, 255) : random.integer(0x30, 0x3b));
    }
    for (int32_t i = 0; i < kBlocks; ++i) ids_.push_back((i * 7) % kBlocks);
    queries_ = random.floats(kQueryTokens * kGroup * kHeadDim, -0.2F, 0.2F);
  }

  /// What `tokens` tokens get; whole and cut along the context must be the same.
  std::vector<float> attend(const Kernels& kernels, const AttentionKernels Kernels::*type, int32_t tokens) const {
    std::vector<float> out(static_cast<size_t>(tokens * kGroup * kHeadDim));
    std::vector<float> scratch(static_cast<size_t>(attend_scratch_floats(kGroup, kHeadDim)));
    const AttendTask task = task_of(tokens, scratch, out);
    (kernels.*type).attend(task);
    const std::vector<float> whole = out;
    const int64_t partial_floats = attend_partial_floats(tokens * kGroup, kHeadDim);
    std::vector<float> partials(static_cast<size_t>(partial_floats * attend_end_span(task)));
    for (int32_t span = 0; span < attend_end_span(task); ++span) {
      (kernels.*type).attend_span(task, span, &partials[static_cast<size_t>(span * partial_floats)]);
    }
    kernels.merge_spans(task, partials.data());
    EXPECT_EQ(out, whole) << "cut along the context";
    return whole;
  }

  std::vector<float> attend_prompt(const Kernels& kernels, const AttentionKernels Kernels::*type,
                                   int32_t tokens) const {
    std::vector<float> out(static_cast<size_t>(tokens * kGroup * kHeadDim));
    std::vector<float> scratch(static_cast<size_t>(attend_scratch_floats(kGroup, kHeadDim)));
    (kernels.*type).attend_prompt(task_of(tokens, scratch, out));
    return out;
  }

 private:
  static constexpr int32_t kHeadDim = 64;
  static constexpr int32_t kBlockSize = 16;
  static constexpr int32_t kBlocks = 19;
  static constexpr int64_t kBlockBytes = 4 * kHeadDim * kBlockSize + 8 * kBlockSize;
  static constexpr int32_t kGroup = 3;
  static constexpr int32_t kContext = 300;

  AttendTask task_of(int32_t tokens, std::vector<float>& scratch, std::vector<float>& out) const {
    return {.cache = cache_.data(),
            .block_bytes = kBlockBytes,
            .block_ids = ids_.data(),
            .block_size = kBlockSize,
            .head_dim = kHeadDim,
            .group = kGroup,
            .token_count = tokens,
            .first_position = kContext - tokens,
            .scale = 0.125F,
            .queries = queries_.data(),
            .query_stride = kGroup * kHeadDim,
            .out = out.data(),
            .out_stride = kGroup * kHeadDim,
            .scratch = scratch.data()};
  }

  std::vector<std::byte> cache_;
  std::vector<int32_t> ids_;
  std::vector<float> queries_;
};

constexpr const AttentionKernels Kernels::*kCacheTypes[] = {&Kernels::f16, &Kernels::bf16, &Kernels::int8};

TEST_P(KernelEmulation, AttentionIsBitEqual) {
  const AttentionData data(random_);
  for (const auto type : kCacheTypes) {
    for (const int32_t tokens : {1, 2, 16, 31}) {
      ASSERT_EQ(data.attend(native(), type, tokens), data.attend(emulated(), type, tokens)) << tokens;
      ASSERT_EQ(data.attend_prompt(native(), type, tokens), data.attend_prompt(emulated(), type, tokens)) << tokens;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<CpuIsa>& info) {
  return std::string(cpu_isa_name(info.param));
}

INSTANTIATE_TEST_SUITE_P(Isa, KernelEmulation, ::testing::Values(CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx),
                         name_of);

// From here on everything runs on every machine.

class EmulatedKernels : public ::testing::TestWithParam<CpuIsa> {
 protected:
  const Kernels& emulated() const { return emulated_kernels(GetParam()); }

  Random random_{12};
};

TEST_P(EmulatedKernels, MultiplyLikeThePortableKernels) {
  for (const TensorType type : kQuantizedTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const int32_t length = lengths_of(type, {6}, {2}).front();
    const auto panel = random_panel(type, length, random_);
    for (const int32_t count : {1, 7, 19}) {
      TestColumns columns(emulated(), count, length, random_);
      columns.restore_floats(count);
      const std::vector<float> wanted = product(portable_kernels().decode, type, panel, columns, count);
      const std::vector<float> decoded = product(emulated().decode, type, panel, columns, count);
      for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(decoded[i], wanted[i], 0.02) << i;
      if (!emulated().prompt.exist()) continue;
      const std::vector<float> prompt = prompt_product(emulated().prompt, type, panel, columns, count);
      float largest = 0;
      for (const float value : wanted) largest = std::max(largest, std::abs(value));
      for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(prompt[i], wanted[i], 0.02F * largest) << i;
    }
  }
}

TEST_P(EmulatedKernels, QuantizeToWithinHalfAStep) {
  TestColumns columns(emulated(), 20, 96, random_);
  const std::vector<float> before = columns.floats;
  columns.restore_floats(20);
  for (size_t i = 0; i < 20 * 96; ++i) ASSERT_NEAR(columns.floats[i], before[i], 3.0 / 127 / 2 + 1e-5);
}

TEST_P(EmulatedKernels, AttendLikeThePortableKernels) {
  const AttentionData data(random_);
  for (const auto type : kCacheTypes) {
    for (const int32_t tokens : {1, 16}) {
      const std::vector<float> got = data.attend(emulated(), type, tokens);
      const std::vector<float> wanted = data.attend(portable_kernels(), type, tokens);
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], 1e-3 * (1 + std::abs(wanted[i]))) << i;
      const std::vector<float> prompt = data.attend_prompt(emulated(), type, tokens);
      for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(prompt[i], wanted[i], 0.05 * (1 + std::abs(wanted[i]))) << i;
    }
  }
}

TEST_P(EmulatedKernels, WeighLogitsAsTheContractHasIt) {
  expect_weigh_keeps_its_contract(emulated().logits);
  expect_weigh_gives_zero_where_there_is_no_weight(emulated().logits);
}

TEST_P(EmulatedKernels, PassTheCheckAtStart) {
  EXPECT_TRUE(check_kernels(emulated(), "emulated").ok());
}

TEST_P(EmulatedKernels, FailTheCheckAtStartWhenOneOfThemIsWrong) {
  const auto message_of = [](const Kernels& kernels) { return check_kernels(kernels, "emulated").message(); };
  Kernels broken = emulated();
  broken.decode.dot[TensorType::kQ4_K] = [](const std::byte* panel, const Columns& columns, int32_t count, float* out) {
    emulated_kernels(CpuIsa::kAvx512).decode.dot[TensorType::kQ4_K](panel, columns, count, out);
    out[count * kPanelRows - 1] += 10;
  };
  EXPECT_THAT(message_of(broken), ::testing::HasSubstr("Q4_K"));
  broken = emulated();
  broken.decode.dot[TensorType::kQ8_0] = [](const std::byte* /*panel*/, const Columns& /*columns*/, int32_t count,
                                            float* out) { std::fill_n(out, count * kPanelRows, std::nanf("")); };
  EXPECT_THAT(message_of(broken), ::testing::HasSubstr("Q8_0"));
  if (emulated().prompt.exist()) {
    broken = emulated();
    broken.prompt.unpack[TensorType::kQ5_1] = [](const std::byte* /*panel*/, int32_t blocks, uint16_t* weights) {
      std::fill_n(weights, blocks * kQuantBlock * kPanelRows, uint16_t{0});
    };
    EXPECT_THAT(message_of(broken), ::testing::HasSubstr("Q5_1"));
  }
  broken = emulated();
  broken.f16.attend = [](const AttendTask& task) { std::fill_n(task.out, task.head_dim, 0.0F); };
  EXPECT_THAT(message_of(broken), ::testing::HasSubstr("attention"));
}

TEST(PortableKernels, WeighLogitsAsTheContractHasIt) {
  expect_weigh_keeps_its_contract(portable_kernels().logits);
  expect_weigh_gives_zero_where_there_is_no_weight(portable_kernels().logits);
}

TEST_P(EmulatedKernels, FindThePanelsTops) {
  std::vector<float> products = random_.floats(5 * kPanelRows);
  products[3] = std::nanf("");
  std::fill_n(products.begin() + kPanelRows, kPanelRows, std::nanf(""));
  std::vector<float> tops(5);
  emulated().panel_tops(products.data(), 5, tops.data());
  for (size_t c = 0; c < 5; ++c) {
    EXPECT_EQ(tops[c], largest_of({&products[c * kPanelRows], size_t{kPanelRows}}));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, EmulatedKernels, ::testing::Values(CpuIsa::kAvx2, CpuIsa::kAvx512, CpuIsa::kAmx),
                         name_of);

TEST(TileProducts, AreBitEqualToProductsWithoutTiles) {
  Random random(5);
  const Kernels& tiles = emulated_kernels(CpuIsa::kAmx);
  const Kernels& bytes = emulated_kernels(CpuIsa::kAvx512);
  for (const TensorType type : kQuantizedTypes) {
    const int32_t length = lengths_of(type, {37}, {5}).front();
    const auto panel = random_panel(type, length, random);
    for (const int32_t count : {1, 3, 4, 16, 21, 33}) {
      SCOPED_TRACE(tensor_type_name(type) + " columns " + std::to_string(count));
      const TestColumns columns(bytes, count, length, random);
      ASSERT_EQ(product(tiles.decode, type, panel, columns, count), product(bytes.decode, type, panel, columns, count));
    }
  }
}

}  // namespace
}  // namespace sluice::engine::cpu
