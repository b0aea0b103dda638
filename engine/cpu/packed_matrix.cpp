#include "engine/cpu/packed_matrix.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace sluice::engine::cpu {
namespace {

using QuantValues = std::array<uint8_t, kQuantBlock>;  // the stored integers of one block, in order

// Quants of a packed block.
constexpr int64_t kNibblesBytes = 256;
constexpr int64_t kBytesBytes = 512;

int64_t packed_block_bytes(TensorType type) {
  switch (type) {
    case TensorType::kQ4_0:
      return kQ4_0BlockBytes;
    case TensorType::kQ4_1:
      return kQ4_1BlockBytes;
    case TensorType::kQ5_1:
      return kQ5_1BlockBytes;
    default:
      return kQ8_0BlockBytes;
  }
}

bool has_nibbles(TensorType type) {
  return type == TensorType::kQ4_0 || type == TensorType::kQ4_1;
}

bool has_minimum(TensorType type) {
  return type == TensorType::kQ4_1 || type == TensorType::kQ5_1;
}

int64_t quants_bytes(TensorType type) {
  return has_nibbles(type) ? kNibblesBytes : kBytesBytes;
}

uint16_t load_u16(const std::byte* from) {
  uint16_t value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// The order of nibbles and the place of the scales in a stored block: see dequantize() in engine/tensor_type.h.
void add_nibbles(const std::byte* nibbles, QuantValues& values) {
  for (size_t i = 0; i < kQuantBlock / 2; ++i) {
    values.at(i) = std::to_integer<uint8_t>(nibbles[i] & std::byte{0x0f});
    values.at(i + kQuantBlock / 2) = std::to_integer<uint8_t>(nibbles[i] >> 4);
  }
}

void add_fifth_bits(const std::byte* fifths, QuantValues& values) {
  uint32_t bits = 0;
  std::memcpy(&bits, fifths, sizeof(bits));
  for (size_t i = 0; i < kQuantBlock; ++i) values.at(i) = static_cast<uint8_t>(values.at(i) | (bits >> i & 1U) << 4);
}

QuantValues stored_values(TensorType type, const std::byte* block) {
  const std::byte* quants = block + (has_minimum(type) ? 4 : 2);
  QuantValues values{};
  if (type == TensorType::kQ8_0) {
    for (size_t i = 0; i < kQuantBlock; ++i) values.at(i) = std::to_integer<uint8_t>(quants[i]) ^ uint8_t { 0x80 };
    return values;
  }
  const bool has_fifth_bits = !has_nibbles(type);
  add_nibbles(quants + (has_fifth_bits ? 4 : 0), values);
  if (has_fifth_bits) add_fifth_bits(quants, values);
  // From 16 in the middle to 128.
  if (type == TensorType::kQ5_0) {
    for (uint8_t& value : values) value = static_cast<uint8_t>(value + 112);
  }
  return values;
}

void pack_nibbles(const QuantValues& values, int32_t row, std::byte* target) {
  for (size_t i = 0; i < kQuantBlock / 2; ++i) {
    const size_t quarter = i / 4;
    const size_t low = 8 * quarter + i % 4;
    target[(quarter * kPanelRows + static_cast<size_t>(row)) * 4 + i % 4] =
        static_cast<std::byte>(values.at(low) | values.at(low + 4) << 4);
  }
}

void pack_bytes(const QuantValues& values, int32_t row, std::byte* target) {
  for (size_t i = 0; i < kQuantBlock; ++i) {
    target[(i / 4 * kPanelRows + static_cast<size_t>(row)) * 4 + i % 4] = static_cast<std::byte>(values.at(i));
  }
}

void pack_block(TensorType type, const std::byte* stored, int32_t row, std::byte* target) {
  const QuantValues values = stored_values(type, stored);
  std::byte* scales = target + quants_bytes(type);
  has_nibbles(type) ? pack_nibbles(values, row, target) : pack_bytes(values, row, target);
  std::memcpy(scales + 2 * row, stored, 2);
  if (has_minimum(type)) std::memcpy(scales + 2 * (kPanelRows + row), stored + 2, 2);
}

void pack_quantized_row(const PackedPart& part, const std::byte* stored, int32_t row, std::byte* target) {
  const int64_t stored_bytes = traits_of(part.type).block_bytes;
  const int64_t packed_bytes = packed_block_bytes(part.type);
  for (int64_t block = 0; block < part.length / kQuantBlock; ++block) {
    pack_block(part.type, stored + block * stored_bytes, row, target + block * packed_bytes);
  }
}

void pack_float_row(const PackedPart& part, const std::byte* stored, int32_t row, std::byte* target) {
  const int64_t bytes = traits_of(part.type).block_bytes;
  for (int64_t k = 0; k < part.length; ++k) {
    std::memcpy(target + (k * kPanelRows + row) * bytes, stored + k * bytes, static_cast<size_t>(bytes));
  }
}

int32_t packed_nibble(const std::byte* block, int32_t row, int32_t k) {
  const auto byte = std::to_integer<int32_t>(block[(k / 8 * kPanelRows + row) * 4 + k % 4]);
  return k % 8 < 4 ? byte & 0x0f : byte >> 4;
}

int32_t packed_byte(const std::byte* block, int32_t row, int32_t k) {
  return std::to_integer<int32_t>(block[(k / 4 * kPanelRows + row) * 4 + k % 4]);
}

/// The packed integer that stands for 0.
int32_t zero_of(TensorType type) {
  if (has_minimum(type)) return 0;
  return has_nibbles(type) ? 8 : 128;
}

void unpack_block(TensorType type, const std::byte* block, int32_t row, float* out) {
  const std::byte* scales = block + quants_bytes(type);
  const float d = half_to_float(load_u16(scales + 2 * row));
  const float m = has_minimum(type) ? half_to_float(load_u16(scales + 2 * (kPanelRows + row))) : 0.0F;
  for (int32_t k = 0; k < kQuantBlock; ++k) {
    const int32_t value = has_nibbles(type) ? packed_nibble(block, row, k) : packed_byte(block, row, k);
    out[k] = d * static_cast<float>(value - zero_of(type)) + m;
  }
}

float unpack_float(TensorType type, const std::byte* element) {
  if (type == TensorType::kF16) return half_to_float(load_u16(element));
  if (type == TensorType::kBf16) return bf16_to_float(load_u16(element));
  float value = 0;
  std::memcpy(&value, element, sizeof(value));
  return value;
}

}  // namespace

bool PackedPart::is_quantized() const {
  return traits_of(type).block_elements == kQuantBlock;
}

int64_t PackedPart::panel_bytes() const {
  if (is_quantized()) return length / kQuantBlock * packed_block_bytes(type);
  return int64_t{length} * kPanelRows * traits_of(type).block_bytes;
}

void pack_panel(const PackedPart& part, std::span<const std::byte> source, int32_t panel, std::byte* target) {
  const int64_t row_bytes = tensor_bytes(part.type, part.length);
  const int32_t first = panel * kPanelRows;
  const int32_t rows = std::min(kPanelRows, part.row_count - first);
  SLUICE_CHECK(rows > 0 && static_cast<int64_t>(source.size()) >= (first + rows) * row_bytes);
  if (rows < kPanelRows) std::memset(target, 0, static_cast<size_t>(part.panel_bytes()));
  for (int32_t row = 0; row < rows; ++row) {
    const std::byte* stored = source.data() + (first + row) * row_bytes;
    if (part.is_quantized()) {
      pack_quantized_row(part, stored, row, target);
    } else {
      pack_float_row(part, stored, row, target);
    }
  }
}

void unpack_row(const PackedPart& part, int32_t row, std::span<float> out) {
  SLUICE_CHECK(row >= 0 && row < part.row_count && out.size() == static_cast<size_t>(part.length));
  const std::byte* panel = part.panels + row / kPanelRows * part.panel_bytes();
  const int32_t lane = row % kPanelRows;
  if (part.is_quantized()) {
    for (int64_t block = 0; block < part.length / kQuantBlock; ++block) {
      unpack_block(part.type, panel + block * packed_block_bytes(part.type), lane, out.data() + block * kQuantBlock);
    }
    return;
  }
  const int64_t bytes = traits_of(part.type).block_bytes;
  for (int64_t k = 0; k < part.length; ++k) {
    out[static_cast<size_t>(k)] = unpack_float(part.type, panel + (k * kPanelRows + lane) * bytes);
  }
}

}  // namespace sluice::engine::cpu
