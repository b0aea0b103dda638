#include "engine/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "engine/quant_scheme.h"
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

/// Puts kBits bits of 32 quants, those from bit kFirst on, to a row's places in a plane.
template <int kFirst, int kBits>
void put_plane(const uint8_t* quants, std::byte* plane) {
  constexpr int kFields = 8 / kBits;
  for (int group = 0; group < kBits; ++group) {
    uint32_t four = 0;
    for (int i = 0; i < kFields; ++i) {
      four |= (load<uint32_t>(quants + 4 * (group * kFields + i)) >> kFirst & four_masks(kBits)) << kBits * i;
    }
    std::memcpy(plane + group * kGroupBytes, &four, sizeof(four));
  }
}

/// The way back: sets, or with kFirst > 0 adds, those bits of 32 quants.
template <int kFirst, int kBits>
void take_plane(const std::byte* plane, uint8_t* quants) {
  constexpr int kFields = 8 / kBits;
  for (int group = 0; group < kBits; ++group) {
    const auto four = load<uint32_t>(plane + group * kGroupBytes);
    for (int i = 0; i < kFields; ++i) {
      uint8_t* to = quants + 4 * (group * kFields + i);
      uint32_t taken = (four >> kBits * i & four_masks(kBits)) << kFirst;
      if constexpr (kFirst > 0) taken |= load<uint32_t>(to);
      std::memcpy(to, &taken, sizeof(taken));
    }
  }
}

/// A quantised type's rows, in and out of panels.
template <TensorType kType>
struct PackedRow {
  static constexpr PackedLayout kLayout = packed_layout(kType);
  static constexpr QuantScheme kScheme = kLayout.scheme;
  static constexpr int kLowBits = kLayout.low_bits();
  static constexpr int kHighBits = kLayout.high_bits();
  static constexpr int kGroupCount = kScheme.blocks * kScheme.groups;

  static void put(const QuantizedBlock& block, int32_t row, std::byte* unit) {
    for (int b = 0; b < kScheme.blocks; ++b) {
      const uint8_t* quants = block.quants.data() + int64_t{b} * kQuantBlock;
      put_plane<0, kLowBits>(quants, unit + kLayout.low_plane_at(b) + 4 * row);
      if constexpr (kHighBits > 0) {
        put_plane<kLowBits, kHighBits>(quants, unit + kLayout.high_plane_at(b) + 4 * row);
      }
    }
    for (int group = 0; group < kGroupCount; ++group) {
      const auto from = static_cast<size_t>(group);
      const int64_t place = int64_t{group} * kPanelRows + row;
      unit[kLayout.scale_bytes_at(0) + place] = static_cast<std::byte>(block.scales[from]);
      if constexpr (kScheme.has_minimum) {
        unit[kLayout.minimum_bytes_at(0) + place] = static_cast<std::byte>(block.minima[from]);
      }
    }
    std::memcpy(unit + kLayout.scales_at() + kHalfBytes * row, &block.d, kHalfBytes);
    if constexpr (kScheme.has_minimum) std::memcpy(unit + kLayout.minima_at() + kHalfBytes * row, &block.m, kHalfBytes);
  }

  static void take(const std::byte* unit, int32_t row, QuantizedBlock& block) {
    for (int b = 0; b < kScheme.blocks; ++b) {
      uint8_t* quants = block.quants.data() + int64_t{b} * kQuantBlock;
      take_plane<0, kLowBits>(unit + kLayout.low_plane_at(b) + 4 * row, quants);
      if constexpr (kHighBits > 0) {
        take_plane<kLowBits, kHighBits>(unit + kLayout.high_plane_at(b) + 4 * row, quants);
      }
    }
    for (int group = 0; group < kGroupCount; ++group) {
      const auto to = static_cast<size_t>(group);
      const int64_t place = int64_t{group} * kPanelRows + row;
      block.scales[to] = std::to_integer<int8_t>(unit[kLayout.scale_bytes_at(0) + place]);
      if constexpr (kScheme.has_minimum) {
        block.minima[to] = std::to_integer<int8_t>(unit[kLayout.minimum_bytes_at(0) + place]);
      }
    }
    block.d = load<uint16_t>(unit + kLayout.scales_at() + kHalfBytes * row);
    if constexpr (kScheme.has_minimum) block.m = load<uint16_t>(unit + kLayout.minima_at() + kHalfBytes * row);
  }

  static void pack(const std::byte* stored, int32_t length, int32_t row, std::byte* panel) {
    const TensorTypeTraits traits = traits_of(kType);
    QuantizedBlock block;
    for (int32_t k = 0; k < length; k += traits.block_elements) {
      read_block(kType, stored, block);
      put(block, row, panel);
      stored += traits.block_bytes;
      panel += kLayout.bytes();
    }
  }

  static void unpack(const std::byte* panel, int32_t length, int32_t row, float* out) {
    const int32_t elements = traits_of(kType).block_elements;
    QuantizedBlock block;
    for (int32_t k = 0; k < length; k += elements, panel += kLayout.bytes()) {
      take(panel, row, block);
      decode_block(kType, block, out + k);
    }
  }
};

constexpr auto kPack =
    per_quantized_type<void (*)(const std::byte* stored, int32_t length, int32_t row, std::byte* panel)>(
        [](auto type) { return PackedRow<decltype(type)::kType>::pack; });
constexpr auto kUnpack = per_quantized_type<void (*)(const std::byte* panel, int32_t length, int32_t row, float* out)>(
    [](auto type) { return PackedRow<decltype(type)::kType>::unpack; });

/// Puts a row's elements to every 16th place from `target` on.
template <int64_t kBytes>
void spread_elements(const std::byte* stored, int64_t length, std::byte* target) {
  for (int64_t k = 0; k < length; ++k) std::memcpy(target + k * kPanelRows * kBytes, stored + k * kBytes, kBytes);
}

void pack_float_row(const PackedPart& part, const std::byte* stored, int32_t row, std::byte* target) {
  if (part.type == TensorType::kF32) return spread_elements<4>(stored, part.length, target + int64_t{row} * 4);
  spread_elements<2>(stored, part.length, target + int64_t{row} * 2);
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

void pack_panel(const PackedPart& part, std::span<const std::byte> rows, std::byte* target) {
  const int64_t row_bytes = tensor_bytes(part.type, part.length);
  const int64_t count = static_cast<int64_t>(rows.size()) / row_bytes;
  SLUICE_CHECK(count > 0 && count <= kPanelRows && static_cast<int64_t>(rows.size()) == count * row_bytes);
  if (count < kPanelRows) std::memset(target, 0, static_cast<size_t>(part.panel_bytes()));
  for (int32_t row = 0; row < count; ++row) {
    const std::byte* stored = rows.data() + row * row_bytes;
    if (part.is_quantized()) {
      kPack[part.type](stored, part.length, row, target);
    } else {
      pack_float_row(part, stored, row, target);
    }
  }
}

void unpack_row(const PackedPart& part, int32_t row, std::span<float> out) {
  SLUICE_CHECK(row >= 0 && row < part.row_count && out.size() == static_cast<size_t>(part.length));
  const std::byte* panel = part.panels + row / kPanelRows * part.panel_bytes();
  const int32_t lane = row % kPanelRows;
  if (part.is_quantized()) return kUnpack[part.type](panel, part.length, lane, out.data());
  const int64_t bytes = traits_of(part.type).block_bytes;
  for (int64_t k = 0; k < part.length; ++k) {
    out[static_cast<size_t>(k)] = unpack_float(part.type, panel + (k * kPanelRows + lane) * bytes);
  }
}

}  // namespace sluice::engine::cpu
