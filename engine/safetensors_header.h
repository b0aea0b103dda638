#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

/// One tensor as a safetensors header describes it. Nothing is checked but that each member is there and of its type.
struct SafetensorsDescription {
  std::string name;
  std::string dtype;
  std::vector<uint64_t> shape;  ///< outermost first
  uint64_t begin = 0;           ///< of its bytes, from the end of the header
  uint64_t end = 0;
};

/// Reads the JSON of a header: an object of tensors and, under __metadata__, of strings that are passed over. Members
/// of a tensor that the format doesn't know are passed over too. INVALID_ARGUMENT tells what is wrong on one line; a
/// name that appears twice is.
Result<std::vector<SafetensorsDescription>> read_safetensors_header(std::string_view json);

}  // namespace sluice::engine
