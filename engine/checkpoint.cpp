#include "engine/checkpoint.h"

#include <utility>

#include "engine/gguf_checkpoint.h"

namespace sluice::engine {

Result<std::unique_ptr<Checkpoint>> Checkpoint::open(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(GgufFile file, GgufFile::open(path));
  return std::unique_ptr<Checkpoint>(std::make_unique<GgufCheckpoint>(std::move(file)));
}

}  // namespace sluice::engine
