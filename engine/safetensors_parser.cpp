#include "engine/safetensors_parser.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/byte_cursor.h"
#include "engine/printable_name.h"
#include "engine/safetensors_header.h"

namespace sluice::engine {
namespace {

struct Dtype {
  std::string_view name;
  TensorType type;
};
constexpr std::array kDtypes = {Dtype{"F32", TensorType::kF32}, Dtype{"F16", TensorType::kF16},
                                Dtype{"BF16", TensorType::kBf16}};

Result<TensorType> type_of(const std::string& dtype) {
  for (const Dtype& known : kDtypes) {
    if (known.name == dtype) return known.type;
  }
  return invalid_argument("weights of " + printable_name(dtype) + " are not supported, only F32, F16 and BF16 are");
}

/// Bytes that the shape asks for, when that is at most `bytes_max`; nullopt when it is more. Never wraps.
std::optional<uint64_t> bytes_of(const std::vector<uint64_t>& shape, uint64_t element_bytes, uint64_t bytes_max) {
  if (std::ranges::find(shape, uint64_t{0}) != shape.end()) return 0;
  uint64_t bytes = element_bytes;
  for (const uint64_t length : shape) {
    if (length > bytes_max / bytes) return std::nullopt;
    bytes *= length;
  }
  return bytes <= bytes_max ? std::optional(bytes) : std::nullopt;
}

std::string range_text(const SafetensorsDescription& tensor) {
  return "data_offsets [" + std::to_string(tensor.begin) + ", " + std::to_string(tensor.end) + "]";
}

Result<SafetensorsEntry> make_entry(SafetensorsDescription tensor, std::span<const std::byte> data) {
  SLUICE_ASSIGN_OR_RETURN(const TensorType type, type_of(tensor.dtype));
  if (tensor.begin > tensor.end) return invalid_argument(range_text(tensor) + " end before they begin");
  if (tensor.end > data.size()) {
    return invalid_argument(range_text(tensor) + " lie beyond the end of the data (" + std::to_string(data.size()) +
                            " bytes); is the file cut off?");
  }
  const auto element_bytes = static_cast<uint64_t>(traits_of(type).block_bytes);
  const std::optional<uint64_t> wanted = bytes_of(tensor.shape, element_bytes, data.size());
  if (wanted != tensor.end - tensor.begin) {
    return invalid_argument(range_text(tensor) + " are not the bytes that its shape needs");
  }
  SafetensorsEntry entry{.name = std::move(tensor.name), .type = type, .shape = {}, .data = {}};
  for (const uint64_t length : tensor.shape) {
    if (!std::in_range<int64_t>(length))
      return invalid_argument("a dimension has the length " + std::to_string(length));
    entry.shape.push_back(static_cast<int64_t>(length));
  }
  entry.data = data.subspan(static_cast<size_t>(tensor.begin), static_cast<size_t>(tensor.end - tensor.begin));
  return entry;
}

/// Each byte of the data belongs to one tensor, as the format wants it: tensors that share bytes would let a small file
/// stand for any amount of weights, and bytes of no tensor are a file that was put together wrongly.
Status check_cover(const std::vector<SafetensorsEntry>& entries, std::span<const std::byte> data) {
  const std::byte* end = data.data();
  for (const SafetensorsEntry& entry : entries) {
    if (entry.data.empty()) continue;
    if (entry.data.data() < end) return invalid_argument("tensor " + printable_name(entry.name) + " overlaps another");
    if (entry.data.data() > end) {
      return invalid_argument("no tensor owns the bytes before tensor " + printable_name(entry.name));
    }
    end = entry.data.data() + entry.data.size();
  }
  const auto left = static_cast<size_t>(data.data() + data.size() - end);
  if (left == 0) return Status();
  return invalid_argument("no tensor owns the last " + std::to_string(left) + " bytes");
}

}  // namespace

Result<std::vector<SafetensorsEntry>> parse_safetensors(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  const Result<uint64_t> length = cursor.read<uint64_t>();
  if (!length.ok()) return invalid_argument("not a safetensors file: it is shorter than 8 bytes");
  if (*length > kSafetensorsHeaderMax) {
    return invalid_argument("not a safetensors file: a header of " + std::to_string(*length) + " bytes, but at most " +
                            std::to_string(kSafetensorsHeaderMax) + " are allowed");
  }
  const Result<std::span<const std::byte>> header = cursor.read_bytes(*length);
  if (!header.ok()) return header.status().with_context("its header is cut off");
  SLUICE_ASSIGN_OR_RETURN(std::vector<SafetensorsDescription> tensors,
                          read_safetensors_header({reinterpret_cast<const char*>(header->data()), header->size()}));
  const std::span<const std::byte> data = bytes.subspan(cursor.position());
  std::vector<SafetensorsEntry> entries;
  for (SafetensorsDescription& tensor : tensors) {
    const std::string context = "tensor " + printable_name(tensor.name);
    Result<SafetensorsEntry> entry = make_entry(std::move(tensor), data);
    if (!entry.ok()) return entry.status().with_context(context);
    entries.push_back(std::move(entry).value());
  }
  std::ranges::sort(entries, {}, [](const SafetensorsEntry& entry) { return entry.data.data(); });
  SLUICE_RETURN_IF_ERROR(check_cover(entries, data));
  return entries;
}

}  // namespace sluice::engine
