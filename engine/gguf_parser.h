#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/gguf.h"
#include "engine/printable_name.h"

namespace sluice::engine {

/// What a GGUF file says. Strings and tensor data point into the parsed bytes.
struct GgufContents {
  std::map<std::string_view, GgufValue> metadata;
  std::vector<StoredTensor> tensors;                ///< in the file's order
  std::map<std::string_view, size_t> tensor_index;  ///< name to place in `tensors`
};

/// Reads a whole GGUF file from memory. Errors say what is wrong on one line, without the file's name. Nothing is
/// allocated for a count that the bytes left could not hold, so memory stays within a small multiple of `bytes`.
Result<GgufContents> parse_gguf(std::span<const std::byte> bytes);

/// The same without tensors, of which only the count is looked at; `bytes` may end behind the metadata.
Result<GgufContents> parse_gguf_metadata(std::span<const std::byte> bytes);

}  // namespace sluice::engine
