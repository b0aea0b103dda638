#include "engine/cpu/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/counter_random.h"
#include "engine/cpu/column_buffer.h"
#include "engine/cpu/matrix_product.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cpu {
namespace {

constexpr uint64_t kSeed = 20;
constexpr int32_t kBlocks = 3;
constexpr int32_t kLength = kBlocks * kQuantBlock;
constexpr int32_t kColumns = 17;  // more than a tile

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
  /// Two panels' blocks of bytes up to `byte_max` that end with `half_count` half floats of ordinary size.
  std::vector<std::byte> panels(int64_t block_bytes, float byte_max, int32_t half_count) {
    std::vector<std::byte> bytes(static_cast<size_t>(2 * block_bytes * kBlocks));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(static_cast<int32_t>(between(0, byte_max)));
    for (int32_t block = 1; block <= 2 * kBlocks; ++block) {
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

enum class TokenKind { kDrawn, kPrompt };

/// Of two panels.
struct CheckedProducts {
  PanelProducts first;
  PanelProducts second;
};

/// As the backend computes them, with the columns x [kColumns][kLength]; prompts only where they are computed apart.
Result<CheckedProducts> multiply(const Kernels& kernels, TokenKind kind, const PackedPart& part, const float* x) {
  PackedMatrix matrix;
  matrix.length = kLength;
  matrix.has_quantized = true;
  ColumnBuffer columns(kernels);
  SLUICE_RETURN_IF_ERROR(columns.reserve(kColumns, kLength));
  columns.begin(matrix, kind == TokenKind::kDrawn ? kColumns : 0, kColumns);
  for (int32_t c = 0; c < kColumns; ++c) columns.set(c, x + c * kLength);
  const PanelPair pair{{&part, 0}, {&part, 1}};
  ProductMemory memory;
  if (columns.decode_count() == 0) {
    SLUICE_RETURN_IF_ERROR(memory.reserve(kLength));
    kernels.prompt.begin();
    unpack_pair(kernels, pair, memory);
    multiply_unpacked(kernels, columns, {0, kColumns}, memory);
    kernels.prompt.end();
  } else {
    kernels.decode.begin();
    multiply_panel(kernels, columns, pair.first, {0, kColumns}, memory.first);
    multiply_panel(kernels, columns, pair.second, {0, kColumns}, memory.second);
    kernels.decode.end();
  }
  return CheckedProducts{memory.first, memory.second};
}

/// Equal but for rounding: 8-bit and bfloat16 activations are off by up to 1/254 of a block's largest.
bool is_close(std::span<const float> got, std::span<const float> wanted) {
  float largest = 0;
  for (const float value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!(std::abs(got[i] - wanted[i]) <= 0.05F * largest)) return false;
  }
  return true;
}

bool is_close(const PanelProducts& got, const PanelProducts& wanted) {
  constexpr size_t kProductCount = size_t{kColumns} * kPanelRows;
  return is_close(std::span(got).first(kProductCount), std::span(wanted).first(kProductCount));
}

bool is_close(const CheckedProducts& got, const CheckedProducts& wanted) {
  return is_close(got.first, wanted.first) && is_close(got.second, wanted.second);
}

struct ProductCheck {
  TensorType type;
  int64_t block_bytes;
  float byte_max;      ///< of the quants
  int32_t half_count;  ///< at a block's end
};

constexpr ProductCheck kProducts[] = {{TensorType::kQ4_0, kQ4_0BlockBytes, 255, 16},
                                      {TensorType::kQ4_1, kQ4_1BlockBytes, 255, 32},
                                      {TensorType::kQ5_1, kQ5_1BlockBytes, 31, 32},
                                      {TensorType::kQ8_0, kQ8_0BlockBytes, 255, 16}};

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

Status wrong(std::string_view name, std::string_view what) {
  return internal_error("the " + std::string(name) + " kernels compute " + std::string(what) +
                        " wrongly on this machine; choose another instruction set with --cpu-isa (engine.cpu_isa)");
}

Status check_products(const Kernels& kernels, std::string_view name, Numbers& numbers) {
  const std::vector<float> x = numbers.floats(size_t{kColumns} * kLength, -2, 2);
  for (const ProductCheck& check : kProducts) {
    const std::vector<std::byte> panels = numbers.panels(check.block_bytes, check.byte_max, check.half_count);
    const PackedPart part{.type = check.type, .row_count = 2 * kPanelRows, .length = kLength, .panels = panels.data()};
    SLUICE_ASSIGN_OR_RETURN(const CheckedProducts wanted,
                            multiply(portable_kernels(), TokenKind::kDrawn, part, x.data()));
    for (const TokenKind kind : {TokenKind::kDrawn, TokenKind::kPrompt}) {
      SLUICE_ASSIGN_OR_RETURN(const CheckedProducts got, multiply(kernels, kind, part, x.data()));
      if (!is_close(got, wanted)) return wrong(name, tensor_type_name(check.type));
    }
  }
  return Status();
}

Status check_attention(const Kernels& kernels, std::string_view name, Numbers& numbers) {
  // Bytes that are halves of ordinary size.
  std::vector<std::byte> cache(size_t{16} * 64 * 4);
  for (size_t i = 0; i < cache.size(); ++i) {
    cache[i] =
        static_cast<std::byte>(static_cast<int32_t>(i % 2 == 0 ? numbers.between(0, 255) : numbers.between(48, 59)));
  }
  for (const size_t tokens : {size_t{1}, size_t{kQueryTokens}}) {
    const std::vector<float> queries = numbers.floats(tokens * 64, -1, 1);
    const std::vector<float> wanted = attend(portable_kernels().f16.attend, cache, queries);
    for (const auto kernel : {kernels.f16.attend, kernels.f16.attend_prompt}) {
      if (!is_close(attend(kernel, cache, queries), wanted)) return wrong(name, "attention");
    }
  }
  return Status();
}

}  // namespace

Status check_kernels(const Kernels& kernels, std::string_view name) {
  Numbers numbers;
  SLUICE_RETURN_IF_ERROR(check_products(kernels, name, numbers));
  return check_attention(kernels, name, numbers);
}

}  // namespace sluice::engine::cpu
