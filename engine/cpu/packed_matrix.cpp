#include "engine/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/quantized_block.h"

namespace sluice::engine::cpu {
namespace {

constexpr int64_t kGroupBytes = int64_t{kPanelRows} * 4;  // of a register: four elements of each row, or fields of more
constexpr int64_t kHalfBytes = 2;

/// Four bytes with their low `bits` set.
constexpr uint32_t four_masks(int32_t bits) {
  return 0x01010101U * ((1U << bits) - 1);
}

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

/// Puts `bits` bits of 32 quants, those from bit `first_bit` on, to a row's places in a plane.
void put_plane(const uint8_t* quants, int32_t first_bit, int32_t bits, std::byte* plane) {
  const int32_t fields = 8 / bits;
  for (int32_t group = 0; group < bits; ++group, plane += kGroupBytes) {
    uint32_t four = 0;
    for (int32_t i = 0; i < fields; ++i, quants += 4) {
      four |= (load<uint32_t>(quants) >> first_bit & four_masks(bits)) << bits * i;
    }
    std::memcpy(plane, &four, sizeof(four));
  }
}

/// The way back: sets those bits of 32 quants, which are zero so far.
void add_plane(const std::byte* plane, int32_t first_bit, int32_t bits, uint8_t* quants) {
  const int32_t fields = 8 / bits;
  for (int32_t group = 0; group < bits; ++group, plane += kGroupBytes) {
    const auto four = load<uint32_t>(plane);
    for (int32_t i = 0; i < fields; ++i, quants += 4) {
      const uint32_t added = load<uint32_t>(quants) | (four >> bits * i & four_masks(bits)) << first_bit;
      std::memcpy(quants, &added, sizeof(added));
    }
  }
}

/// Calls body(byte of the unit, element of the block's scales or minima) for each of a row's bytes of groups.
template <typename Body>
void for_each_group(const PackedLayout& layout, int32_t row, const Body& body) {
  for (int32_t group = 0; group < layout.scheme.blocks * layout.scheme.groups; ++group) {
    body(int64_t{group} * kPanelRows + row, static_cast<size_t>(group));
  }
}

void pack_block(const PackedLayout& layout, const QuantizedBlock& block, int32_t row, std::byte* unit) {
  for (int32_t b = 0; b < layout.scheme.blocks; ++b) {
    const uint8_t* quants = &block.quants[static_cast<size_t>(b) * kQuantBlock];
    put_plane(quants, 0, layout.low_bits(), unit + layout.low_plane_at(b) + 4 * row);
    if (layout.high_bits() > 0) {
      put_plane(quants, layout.low_bits(), layout.high_bits(), unit + layout.high_plane_at(b) + 4 * row);
    }
  }
  for_each_group(layout, row, [&](int64_t place, size_t group) {
    unit[layout.scale_bytes_at(0) + place] = static_cast<std::byte>(block.scales.at(group));
    if (layout.scheme.has_minimum) {
      unit[layout.minimum_bytes_at(0) + place] = static_cast<std::byte>(block.minima.at(group));
    }
  });
  std::memcpy(unit + layout.scales_at() + kHalfBytes * row, &block.d, kHalfBytes);
  if (layout.scheme.has_minimum) std::memcpy(unit + layout.minima_at() + kHalfBytes * row, &block.m, kHalfBytes);
}

void unpack_block(const PackedLayout& layout, const std::byte* unit, int32_t row, QuantizedBlock& block) {
  block.quants.fill(0);
  for (int32_t b = 0; b < layout.scheme.blocks; ++b) {
    uint8_t* quants = &block.quants[static_cast<size_t>(b) * kQuantBlock];
    add_plane(unit + layout.low_plane_at(b) + 4 * row, 0, layout.low_bits(), quants);
    if (layout.high_bits() > 0) {
      add_plane(unit + layout.high_plane_at(b) + 4 * row, layout.low_bits(), layout.high_bits(), quants);
    }
  }
  for_each_group(layout, row, [&](int64_t place, size_t group) {
    block.scales.at(group) = std::to_integer<int8_t>(unit[layout.scale_bytes_at(0) + place]);
    if (layout.scheme.has_minimum) {
      block.minima.at(group) = std::to_integer<int8_t>(unit[layout.minimum_bytes_at(0) + place]);
    }
  });
  block.d = load<uint16_t>(unit + layout.scales_at() + kHalfBytes * row);
  if (layout.scheme.has_minimum) block.m = load<uint16_t>(unit + layout.minima_at() + kHalfBytes * row);
}

void pack_quantized_row(const PackedPart& part, const std::byte* stored, int32_t row, std::byte* target) {
  const PackedLayout layout = packed_layout(part.type);
  const TensorTypeTraits traits = traits_of(part.type);
  QuantizedBlock block;
  for (int32_t k = 0; k < part.length; k += traits.block_elements) {
    read_block(part.type, stored, block);
    pack_block(layout, block, row, target);
    stored += traits.block_bytes;
    target += layout.bytes();
  }
}

void unpack_quantized_row(const PackedPart& part, const std::byte* panel, int32_t row, float* out) {
  const PackedLayout layout = packed_layout(part.type);
  const int32_t elements = traits_of(part.type).block_elements;
  QuantizedBlock block;
  for (int32_t k = 0; k < part.length; k += elements, panel += layout.bytes()) {
    unpack_block(layout, panel, row, block);
    decode_block(part.type, block, out + k);
  }
}

void pack_float_row(const PackedPart& part, const std::byte* stored, int32_t row, std::byte* target) {
  const int64_t bytes = traits_of(part.type).block_bytes;
  for (int64_t k = 0; k < part.length; ++k) {
    std::memcpy(target + (k * kPanelRows + row) * bytes, stored + k * bytes, static_cast<size_t>(bytes));
  }
}

float unpack_float(TensorType type, const std::byte* element) {
  if (type == TensorType::kF16) return half_to_float(load<uint16_t>(element));
  if (type == TensorType::kBf16) return bf16_to_float(load<uint16_t>(element));
  return load<float>(element);
}

}  // namespace

int64_t PackedPart::panel_bytes() const {
  const TensorTypeTraits traits = traits_of(type);
  if (is_quantized()) return length / traits.block_elements * packed_layout(type).bytes();
  return int64_t{length} * kPanelRows * traits.block_bytes;
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
  if (part.is_quantized()) return unpack_quantized_row(part, panel, lane, out.data());
  const int64_t bytes = traits_of(part.type).block_bytes;
  for (int64_t k = 0; k < part.length; ++k) {
    out[static_cast<size_t>(k)] = unpack_float(part.type, panel + (k * kPanelRows + lane) * bytes);
  }
}

}  // namespace sluice::engine::cpu
