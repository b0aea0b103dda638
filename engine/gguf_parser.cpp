#include "engine/gguf_parser.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/byte_cursor.h"

namespace sluice::engine {
namespace {

// Numbers of the metadata value types.
enum ValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

constexpr uint32_t kMagic = 0x46554747;  // "GGUF"
constexpr uint32_t kDimensionsMax = 4;
constexpr uint64_t kDefaultAlignment = 32;
constexpr uint64_t kAlignmentMax = uint64_t{1} << 30;
// The fewest bytes an entry takes; a count that needs more than the file has left is a lie.
constexpr uint64_t kStringBytesMin = 8;                  // length
constexpr uint64_t kMetadataBytesMin = 8 + 4 + 1;        // key, type, value
constexpr uint64_t kTensorBytesMin = 8 + 4 + 8 + 4 + 8;  // name, dimension count, one dimension, type, offset

Status check_count(std::string_view what, uint64_t count, uint64_t bytes_each, const ByteCursor& cursor) {
  if (count <= cursor.remaining() / bytes_each) return Status();
  return invalid_argument(std::to_string(count) + " " + std::string(what) + " announced, but the file has only " +
                          std::to_string(cursor.remaining()) + " bytes left");
}

template <typename T>
Result<GgufValue> read_int(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const T value, cursor.read<T>());
  if (!std::in_range<int64_t>(value)) return invalid_argument("the number " + std::to_string(value) + " is too large");
  return GgufValue(static_cast<int64_t>(value));
}

template <typename T>
Result<GgufValue> read_float(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const T value, cursor.read<T>());
  return GgufValue(static_cast<double>(value));
}

Result<GgufValue> read_bool(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const uint8_t value, cursor.read<uint8_t>());
  if (value > 1) return invalid_argument("a bool has the value " + std::to_string(value));
  return GgufValue(value == 1);
}

/// An array of T, widened to Wide.
template <typename T, typename Wide>
Result<GgufValue> read_numbers(ByteCursor& cursor, uint64_t count) {
  SLUICE_RETURN_IF_ERROR(check_count("array elements", count, sizeof(T), cursor));
  SLUICE_ASSIGN_OR_RETURN(const auto bytes, cursor.read_bytes(count * sizeof(T)));
  std::vector<Wide> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (!std::in_range<int64_t>(value))
        return invalid_argument("the number " + std::to_string(value) + " is too large");
    }
    values[i] = static_cast<Wide>(value);  // NOLINT(bugprone-signed-char-misuse): an int8 of the file is a number
  }
  return GgufValue(GgufArray(std::move(values)));
}

Result<GgufValue> read_strings(ByteCursor& cursor, uint64_t count) {
  SLUICE_RETURN_IF_ERROR(check_count("array strings", count, kStringBytesMin, cursor));
  std::vector<std::string_view> values;
  for (uint64_t i = 0; i < count; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view value, cursor.read_string());
    values.push_back(value);
  }
  return GgufValue(GgufArray(std::move(values)));
}

Result<GgufValue> read_array(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const uint32_t type, cursor.read<uint32_t>());
  SLUICE_ASSIGN_OR_RETURN(const uint64_t count, cursor.read<uint64_t>());
  switch (type) {
    case kUint8:
      return read_numbers<uint8_t, int64_t>(cursor, count);
    case kInt8:
      return read_numbers<int8_t, int64_t>(cursor, count);
    case kUint16:
      return read_numbers<uint16_t, int64_t>(cursor, count);
    case kInt16:
      return read_numbers<int16_t, int64_t>(cursor, count);
    case kUint32:
      return read_numbers<uint32_t, int64_t>(cursor, count);
    case kInt32:
      return read_numbers<int32_t, int64_t>(cursor, count);
    case kFloat32:
      return read_numbers<float, double>(cursor, count);
    case kBool:
      return read_numbers<uint8_t, int64_t>(cursor, count);
    case kString:
      return read_strings(cursor, count);
    case kArray:
      return invalid_argument("arrays of arrays are not supported");
    case kUint64:
      return read_numbers<uint64_t, int64_t>(cursor, count);
    case kInt64:
      return read_numbers<int64_t, int64_t>(cursor, count);
    case kFloat64:
      return read_numbers<double, double>(cursor, count);
    default:
      return invalid_argument("array elements have the unknown type " + std::to_string(type));
  }
}

Result<GgufValue> read_string_value(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const std::string_view value, cursor.read_string());
  return GgufValue(value);
}

Result<GgufValue> read_value(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const uint32_t type, cursor.read<uint32_t>());
  switch (type) {
    case kUint8:
      return read_int<uint8_t>(cursor);
    case kInt8:
      return read_int<int8_t>(cursor);
    case kUint16:
      return read_int<uint16_t>(cursor);
    case kInt16:
      return read_int<int16_t>(cursor);
    case kUint32:
      return read_int<uint32_t>(cursor);
    case kInt32:
      return read_int<int32_t>(cursor);
    case kFloat32:
      return read_float<float>(cursor);
    case kBool:
      return read_bool(cursor);
    case kString:
      return read_string_value(cursor);
    case kArray:
      return read_array(cursor);
    case kUint64:
      return read_int<uint64_t>(cursor);
    case kInt64:
      return read_int<int64_t>(cursor);
    case kFloat64:
      return read_float<double>(cursor);
    default:
      return invalid_argument("the value has the unknown type " + std::to_string(type));
  }
}

Status read_metadata_entry(ByteCursor& cursor, std::map<std::string_view, GgufValue>& metadata) {
  SLUICE_ASSIGN_OR_RETURN(const std::string_view key, cursor.read_string());
  Result<GgufValue> value = read_value(cursor);
  if (!value.ok()) return value.status().with_context("metadata " + printable_name(key));
  if (!metadata.emplace(key, std::move(value).value()).second) {
    return invalid_argument("metadata " + printable_name(key) + ": the key appears twice");
  }
  return Status();
}

Result<uint64_t> alignment_of(const std::map<std::string_view, GgufValue>& metadata) {
  const auto entry = metadata.find("general.alignment");
  if (entry == metadata.end()) return kDefaultAlignment;
  const auto* value = std::get_if<int64_t>(&entry->second);
  if (value == nullptr || *value <= 0) return invalid_argument("general.alignment must be a positive whole number");
  const auto alignment = static_cast<uint64_t>(*value);
  if ((alignment & (alignment - 1)) != 0 || alignment > kAlignmentMax) {
    return invalid_argument("general.alignment is " + std::to_string(alignment) +
                            ", but must be a power of two up to " + std::to_string(kAlignmentMax));
  }
  return alignment;
}

/// A tensor as the header describes it, before its data is known to exist.
struct TensorHeader {
  StoredTensor tensor;
  uint64_t offset = 0;  ///< from the start of the data section
  uint64_t size = 0;
};

Result<std::vector<int64_t>> read_shape(ByteCursor& cursor) {
  SLUICE_ASSIGN_OR_RETURN(const uint32_t dimensions, cursor.read<uint32_t>());
  if (dimensions < 1 || dimensions > kDimensionsMax) {
    return invalid_argument("it has " + std::to_string(dimensions) + " dimensions, but 1 to 4 are allowed");
  }
  std::vector<int64_t> shape;
  for (uint32_t i = 0; i < dimensions; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const uint64_t length, cursor.read<uint64_t>());
    if (length < 1 || !std::in_range<int64_t>(length)) {
      return invalid_argument("a dimension has the length " + std::to_string(length));
    }
    shape.push_back(static_cast<int64_t>(length));
  }
  return shape;
}

/// Fails when the shape doesn't divide into blocks or holds more elements than a file of `file_size` bytes can.
Result<uint64_t> size_of(const StoredTensor& tensor, uint64_t file_size) {
  const TensorTypeTraits traits = traits_of(tensor.type);
  if (tensor.row_length() % traits.block_elements != 0) {
    return invalid_argument("rows of " + std::to_string(tensor.row_length()) + " elements do not divide into " +
                            tensor_type_name(tensor.type) + " blocks of " + std::to_string(traits.block_elements));
  }
  // No type packs more than four elements into a byte, so the limit on elements keeps the products below far from 2^63.
  const auto elements_max = static_cast<int64_t>(std::min(file_size, uint64_t{1} << 58) * 4);
  int64_t elements = 1;
  for (const int64_t length : tensor.shape) {
    if (length > elements_max / elements)
      return invalid_argument("its shape needs more bytes than the file has; is the file cut off?");
    elements *= length;
  }
  return static_cast<uint64_t>(tensor_bytes(tensor.type, elements));
}

Result<TensorHeader> read_tensor_body(ByteCursor& cursor, std::string_view name, uint64_t file_size) {
  TensorHeader header;
  header.tensor.name = name;
  SLUICE_ASSIGN_OR_RETURN(header.tensor.shape, read_shape(cursor));
  SLUICE_ASSIGN_OR_RETURN(const uint32_t type_number, cursor.read<uint32_t>());
  const std::optional<TensorType> type = tensor_type_from_gguf(type_number);
  if (!type) return invalid_argument("weights of " + gguf_type_name(type_number) + " are not supported");
  header.tensor.type = *type;
  SLUICE_ASSIGN_OR_RETURN(header.offset, cursor.read<uint64_t>());
  SLUICE_ASSIGN_OR_RETURN(header.size, size_of(header.tensor, file_size));
  return header;
}

Status read_tensor_header(ByteCursor& cursor, uint64_t file_size, std::vector<TensorHeader>& headers) {
  SLUICE_ASSIGN_OR_RETURN(const std::string_view name, cursor.read_string());
  Result<TensorHeader> header = read_tensor_body(cursor, name, file_size);
  if (!header.ok()) return header.status().with_context("tensor " + printable_name(name));
  headers.push_back(std::move(header).value());
  return Status();
}

/// Gives the tensor its bytes, if the data section has them.
Status place_tensor(TensorHeader& header, std::span<const std::byte> data, uint64_t alignment) {
  const std::string name = "tensor " + printable_name(header.tensor.name);
  if (header.offset % alignment != 0) {
    return invalid_argument(name + ": its offset " + std::to_string(header.offset) + " is not a multiple of " +
                            std::to_string(alignment));
  }
  if (header.offset > data.size() || header.size > data.size() - header.offset) {
    return invalid_argument(name + ": its " + std::to_string(header.size) + " bytes at offset " +
                            std::to_string(header.offset) + " lie beyond the end of the data (" +
                            std::to_string(data.size()) + " bytes); is the file cut off?");
  }
  header.tensor.data = data.subspan(static_cast<size_t>(header.offset), static_cast<size_t>(header.size));
  return Status();
}

/// Tensors that share bytes would let a small file stand for any amount of weights.
Status check_overlap(const std::vector<TensorHeader>& headers) {
  std::vector<size_t> order(headers.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return headers[a].offset < headers[b].offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorHeader& before = headers[order[i - 1]];
    const TensorHeader& after = headers[order[i]];
    if (before.offset + before.size <= after.offset) continue;
    return invalid_argument("tensors " + printable_name(before.tensor.name) + " and " +
                            printable_name(after.tensor.name) + " overlap");
  }
  return Status();
}

Status read_version(ByteCursor& cursor) {
  const Result<uint32_t> magic = cursor.read<uint32_t>();
  if (!magic.ok() || *magic != kMagic) return invalid_argument("not a GGUF file (it does not begin with \"GGUF\")");
  SLUICE_ASSIGN_OR_RETURN(const uint32_t version, cursor.read<uint32_t>());
  if (version == 2 || version == 3) return Status();
  if ((version & 0xffffU) == 0) return invalid_argument("big-endian GGUF files are not supported");
  return invalid_argument("GGUF version " + std::to_string(version) + " is not supported, only 2 and 3 are");
}

struct Counts {
  uint64_t tensors = 0;
  uint64_t metadata = 0;
};

Result<Counts> read_counts(ByteCursor& cursor) {
  SLUICE_RETURN_IF_ERROR(read_version(cursor));
  Counts counts;
  SLUICE_ASSIGN_OR_RETURN(counts.tensors, cursor.read<uint64_t>());
  SLUICE_ASSIGN_OR_RETURN(counts.metadata, cursor.read<uint64_t>());
  return counts;
}

Status read_metadata(ByteCursor& cursor, uint64_t count, std::map<std::string_view, GgufValue>& metadata) {
  SLUICE_RETURN_IF_ERROR(check_count("metadata entries", count, kMetadataBytesMin, cursor));
  for (uint64_t i = 0; i < count; ++i) SLUICE_RETURN_IF_ERROR(read_metadata_entry(cursor, metadata));
  return Status();
}

Status attach_tensors(std::vector<TensorHeader> headers, std::span<const std::byte> data, uint64_t alignment,
                      GgufContents& contents) {
  for (TensorHeader& header : headers) SLUICE_RETURN_IF_ERROR(place_tensor(header, data, alignment));
  SLUICE_RETURN_IF_ERROR(check_overlap(headers));
  for (TensorHeader& header : headers) {
    if (!contents.tensor_index.emplace(header.tensor.name, contents.tensors.size()).second) {
      return invalid_argument("tensor " + printable_name(header.tensor.name) + ": the name appears twice");
    }
    contents.tensors.push_back(std::move(header.tensor));
  }
  return Status();
}

/// The bytes after the header, from the next multiple of the alignment on; empty when the file ends before it.
std::span<const std::byte> data_section(std::span<const std::byte> bytes, size_t header_end, uint64_t alignment) {
  const uint64_t begin = (header_end + alignment - 1) / alignment * alignment;
  return bytes.subspan(static_cast<size_t>(std::min<uint64_t>(begin, bytes.size())));
}

}  // namespace

Result<GgufContents> parse_gguf_metadata(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  GgufContents contents;
  SLUICE_ASSIGN_OR_RETURN(const Counts counts, read_counts(cursor));
  SLUICE_RETURN_IF_ERROR(read_metadata(cursor, counts.metadata, contents.metadata));
  return contents;
}

Result<GgufContents> parse_gguf(std::span<const std::byte> bytes) {
  ByteCursor cursor(bytes);
  GgufContents contents;
  SLUICE_ASSIGN_OR_RETURN(const Counts counts, read_counts(cursor));
  SLUICE_RETURN_IF_ERROR(check_count("tensors", counts.tensors, kTensorBytesMin, cursor));
  SLUICE_RETURN_IF_ERROR(read_metadata(cursor, counts.metadata, contents.metadata));
  SLUICE_ASSIGN_OR_RETURN(const uint64_t alignment, alignment_of(contents.metadata));

  std::vector<TensorHeader> headers;
  for (uint64_t i = 0; i < counts.tensors; ++i) {
    SLUICE_RETURN_IF_ERROR(read_tensor_header(cursor, bytes.size(), headers));
  }
  SLUICE_RETURN_IF_ERROR(
      attach_tensors(std::move(headers), data_section(bytes, cursor.position(), alignment), alignment, contents));
  return contents;
}

}  // namespace sluice::engine
