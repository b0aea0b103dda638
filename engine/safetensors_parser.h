#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/tensor_type.h"

namespace sluice::engine {

/// A tensor of a safetensors file.
struct SafetensorsEntry {
  std::string name;
  TensorType type = TensorType::kF32;  ///< F32, F16 or BF16
  std::vector<int64_t> shape;          ///< outermost dimension first, all >= 0; empty for a single number
  std::span<const std::byte> data;     ///< in the parsed bytes; its size is exactly that of the shape
};

/// Longest header that is read, as in the format's own library.
inline constexpr uint64_t kSafetensorsHeaderMax = 100'000'000;

/// Reads a whole safetensors file from memory: 8 bytes of length, that much JSON, then the tensors' bytes, of which
/// each belongs to one tensor. Entries are in the data's order. Errors say what is wrong on one line, without the
/// file's name. Memory stays within a small multiple of the header's real size, time within n log n of it. Format:
/// https://github.com/huggingface/safetensors#format
Result<std::vector<SafetensorsEntry>> parse_safetensors(std::span<const std::byte> bytes);

}  // namespace sluice::engine
