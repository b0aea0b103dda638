#include "engine/checkpoint.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/gguf_checkpoint.h"
#include "engine/hf_checkpoint.h"
#include "engine/synthetic_checkpoint.h"

namespace sluice::engine {

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& path) {
  if (is_synthetic_path(path)) return SyntheticCheckpoint::open(path);
  if (std::error_code error; std::filesystem::is_directory(path, error)) return HfCheckpoint::open(path);
  if (path.ends_with(".safetensors") || path.ends_with(".json")) {
    return invalid_argument(path + ": it is a part of a Hugging Face folder; name the folder");
  }
  SLUICE_ASSIGN_OR_RETURN(GgufFile file, GgufFile::open(path));
  return std::unique_ptr<Checkpoint>(std::make_unique<GgufCheckpoint>(std::move(file)));
}

}  // namespace sluice::engine
