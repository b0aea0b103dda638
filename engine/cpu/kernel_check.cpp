#include "engine/cpu/kernel_check.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
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
constexpr int32_t kLength = 3 * kQuantBlock;            // of types with small blocks
constexpr int32_t kLengthMax = kQuantBlockElementsMax;  // of the others, one block
constexpr int32_t kColumns = 17;                        // more than a tile

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
  /// `panel_count` panels of rows of `length`: bfloat16, or any quants and any scales of groups, and d and m that make
  /// weights of ordinary size of them.
  std::vector<std::byte> panels(TensorType type, int32_t panel_count, int32_t length) {
    if (!is_quantized(type)) return bf16_panels(panel_count, length);
    const PackedLayout layout = packed_layout(type);
    const int32_t units = panel_count * length / (layout.scheme.blocks * kQuantBlock);
    std::vector<std::byte> bytes(static_cast<size_t>(units * layout.bytes()));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(static_cast<int32_t>(between(0, 255)));
    const float largest = layout.scheme.groups > 0 ? 0.002F : 0.2F;
    for (int64_t unit = 0; unit < units; ++unit) {
      for (int64_t at = layout.scales_at(); at < layout.bytes(); at += 2) {
        const float value = between(-largest, largest);
        const uint16_t bits = layout.scheme.has_bf16_scale ? float_to_bf16(value) : float_to_half(value);
        std::memcpy(bytes.data() + unit * layout.bytes() + at, &bits, sizeof(bits));
      }
    }
    return bytes;
  }

 private:
  std::vector<std::byte> bf16_panels(int32_t panel_count, int32_t length) {
    std::vector<std::byte> bytes(static_cast<size_t>(panel_count) * kPanelRows * static_cast<size_t>(length) * 2);
    for (size_t at = 0; at < bytes.size(); at += 2) {
      const uint16_t bits = float_to_bf16(between(-2, 2));
      std::memcpy(&bytes[at], &bits, sizeof(bits));
    }
    return bytes;
  }

  uint64_t position_ = 0;
};

enum class TokenKind { kDrawn, kPrompt };

/// Of two panels.
struct CheckedProducts {
  PanelProducts first;
  PanelProducts second;
};

/// As the backend computes them, with the columns x [kColumns][part.length]; prompts only where they are computed
/// apart.
Result<CheckedProducts> multiply(const Kernels& kernels, TokenKind kind, const PackedPart& part, const float* x) {
  PackedMatrix matrix;
  matrix.parts = {part};
  matrix.length = part.length;
  (part.is_quantized() ? matrix.has_quantized : matrix.has_float) = true;
  ColumnBuffer columns(kernels);
  SLUICE_RETURN_IF_ERROR(columns.reserve(kColumns, part.length));
  columns.begin(matrix, kind == TokenKind::kDrawn ? kColumns : 0, kColumns);
  for (int32_t c = 0; c < kColumns; ++c) columns.set(c, x + c * part.length);
  const PanelPair pair{{&part, 0}, {&part, 1}};
  ProductMemory memory;
  if (columns.decode_count() == 0) {
    SLUICE_RETURN_IF_ERROR(memory.reserve(part.length));
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
  const std::vector<float> x = numbers.floats(size_t{kColumns} * kLengthMax, -2, 2);
  std::vector<TensorType> types(std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  types.push_back(TensorType::kBf16);
  for (const TensorType type : types) {
    const int32_t length = traits_of(type).block_elements == kQuantBlockElementsMax ? kLengthMax : kLength;
    const std::vector<std::byte> panels = numbers.panels(type, 2, length);
    const PackedPart part{.type = type, .row_count = 2 * kPanelRows, .length = length, .panels = panels.data()};
    SLUICE_ASSIGN_OR_RETURN(const CheckedProducts wanted,
                            multiply(portable_kernels(), TokenKind::kDrawn, part, x.data()));
    for (const TokenKind kind : {TokenKind::kDrawn, TokenKind::kPrompt}) {
      SLUICE_ASSIGN_OR_RETURN(const CheckedProducts got, multiply(kernels, kind, part, x.data()));
      if (!is_close(got, wanted)) return wrong(name, tensor_type_name(type));
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
