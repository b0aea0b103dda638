#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/gguf_parser.h"
#include "engine/mapped_file.h"

namespace sluice::engine {

/// One file of a GGUF model, whose contents point into it.
struct GgufPart {
  std::string path;
  std::unique_ptr<MappedFile> file;
  GgufContents contents;
};

/// Opens a GGUF model: a file on its own, or all parts of a split one, in their order, when `path` is any of them.
/// Parts are called NAME-00001-of-00003.gguf and so on and say the same of themselves (split.no from 0, split.count).
/// The model's metadata are those of the first. Errors name the file: a part that is missing or is another one than its
/// name says, a tensor that two parts have, a total other than split.tensors.count.
Result<std::vector<GgufPart>> open_gguf_parts(const std::string& path);

}  // namespace sluice::engine
