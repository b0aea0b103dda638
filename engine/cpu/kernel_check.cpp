#include "engine/cpu/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "base/counter_random.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {
namespace {

constexpr uint64_t kSeed = 20;
constexpr int32_t kBlocks = 3;
constexpr int32_t kLength = kBlocks * kQuantBlock;
constexpr int32_t kColumns = 17;  // more than a tile
constexpr size_t kColumnsPadded = 2 * kColumnLanes;

/// Numbers from a fixed sequence.
class Numbers {
 public:
  float between(float low, float high) {
    return low + (high - low) * static_cast<float>(random_unit(kSeed, position_++));
  }
  std::vector<float> floats(size_t count, float low, float high) {
    std::vector<float> values(count);
    for (float& value : values) value = between(low, high);
    return values;
  }
  /// Blocks of any quants that end with `half_count` half floats of ordinary size.
  std::vector<std::byte> panel(int64_t block_bytes, int32_t half_count) {
    std::vector<std::byte> bytes(static_cast<size_t>(block_bytes * kBlocks));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(static_cast<int32_t>(between(0, 255)));
    for (int32_t block = 1; block <= kBlocks; ++block) {
      std::byte* halves = bytes.data() + block * block_bytes - 2 * half_count;
      for (int32_t i = 0; i < half_count; ++i) {
        const uint16_t half = float_to_half(between(-0.2F, 0.2F));
        std::memcpy(halves + 2 * i, &half, sizeof(half));
      }
    }
    return bytes;
  }

 private:
  uint64_t position_ = 0;
};

/// The right-hand side of a product in all its forms.
struct CheckColumns {
  CheckColumns(const Kernels& kernels, std::vector<float> from)
      : floats(std::move(from)),
        halves(floats.size()),
        values(floats.size()),
        scales(floats.size() / kQuantBlock),
        sums(scales.size()),
        offsets(scales.size()) {
    for (int32_t c = 0; c < kColumns; ++c) {
      const auto place = static_cast<size_t>(column_place(c, 0, kBlocks));
      const float* column = floats.data() + c * kLength;
      kernels.quantize(column, kLength, &values[place * kQuantBlock], &scales[place], &sums[place], &offsets[place]);
      kernels.to_halves(column, kLength, &halves[place * kQuantBlock]);
    }
  }

  Columns view() const {
    return {kLength, floats.data(), halves.data(), values.data(), scales.data(), sums.data(), offsets.data()};
  }

  std::vector<float> floats;
  std::vector<uint16_t> halves;
  std::vector<int8_t> values;
  std::vector<float> scales;
  std::vector<float> sums;
  std::vector<int32_t> offsets;
};

std::vector<float> multiply(const QuantizedProducts& products, Dot dot, const std::vector<std::byte>& panel,
                            const Columns& columns) {
  std::vector<float> out(kColumnsPadded * kPanelRows);
  products.begin();
  dot(panel.data(), columns, kColumns, out.data());
  products.end();
  out.resize(size_t{kColumns} * kPanelRows);
  return out;
}

/// Equal but for rounding: 8-bit and bfloat16 activations are off by up to 1/254 of a block's largest.
bool is_close(const std::vector<float>& got, const std::vector<float>& wanted) {
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= 0.05F * largest)) return false;
  }
  return true;
}

struct ProductCheck {
  const char* name;
  Dot QuantizedProducts::*dot;
  int64_t block_bytes;
  int32_t half_count;
};

constexpr ProductCheck kProducts[] = {{"Q4_0", &QuantizedProducts::q4_0, kQ4_0BlockBytes, 16},
                                      {"Q4_1", &QuantizedProducts::q4_1, kQ4_1BlockBytes, 32},
                                      {"Q8_0", &QuantizedProducts::q8_0, kQ8_0BlockBytes, 16}};

std::vector<float> attend(void (*kernel)(const AttendTask&), const std::vector<std::byte>& cache,
                          const std::vector<float>& queries) {
  constexpr int32_t kHeadDim = 64;
  constexpr int32_t kContext = 150;  // two spans
  const std::vector<int32_t> blocks(kContext / 16 + 1, 0);
  std::vector<float> out(queries.size());
  std::vector<float> scratch(static_cast<size_t>(attend_scratch_floats(1, kHeadDim)));
  const auto tokens = static_cast<int32_t>(queries.size()) / kHeadDim;
  kernel({.cache = cache.data(),
          .block_bytes = 0,
          .block_ids = blocks.data(),
          .block_size = 16,
          .head_dim = kHeadDim,
          .group = 1,
          .token_count = tokens,
          .first_position = kContext - tokens,
          .scale = 0.125F,
          .queries = queries.data(),
          .query_stride = kHeadDim,
          .out = out.data(),
          .out_stride = kHeadDim,
          .scratch = scratch.data()});
  return out;
}

Status wrong(std::string_view name, const char* what) {
  return internal_error("the " + std::string(name) + " kernels compute " + what +
                        " wrongly on this machine; choose another instruction set with --cpu-isa (engine.cpu_isa)");
}

}  // namespace

Status check_kernels(const Kernels& kernels, std::string_view name) {
  const Kernels& portable = portable_kernels();
  Numbers numbers;
  const CheckColumns columns(kernels, numbers.floats(kColumnsPadded * kLength, -2, 2));
  for (const ProductCheck& check : kProducts) {
    const std::vector<std::byte> panel = numbers.panel(check.block_bytes, check.half_count);
    const auto wanted = multiply(portable.decode, portable.decode.*check.dot, panel, columns.view());
    for (const QuantizedProducts* products : {&kernels.decode, &kernels.prompt}) {
      if (!is_close(multiply(*products, products->*check.dot, panel, columns.view()), wanted)) {
        return wrong(name, check.name);
      }
    }
  }
  // Bytes that are halves of ordinary size.
  std::vector<std::byte> cache(size_t{16} * 64 * 4);
  for (size_t i = 0; i < cache.size(); ++i) {
    cache[i] =
        static_cast<std::byte>(static_cast<int32_t>(i % 2 == 0 ? numbers.between(0, 255) : numbers.between(48, 59)));
  }
  for (const size_t tokens : {size_t{1}, size_t{kQueryTokens}}) {
    const std::vector<float> queries = numbers.floats(tokens * 64, -1, 1);
    const std::vector<float> wanted = attend(portable.f16.attend, cache, queries);
    const auto attends_well = [&](void (*kernel)(const AttendTask&)) {
      return kernel == nullptr || is_close(attend(kernel, cache, queries), wanted);
    };
    if (!attends_well(kernels.f16.attend) || !attends_well(kernels.f16.attend_prompt)) return wrong(name, "attention");
  }
  return Status();
}

}  // namespace sluice::engine::cpu
