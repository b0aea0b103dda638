#pragma once

#include <cstdint>
#include <string>

#include "engine/machine_limits.h"
#include "engine/tokenizer.h"

namespace sluice::server {

/// What the fronts know of the model that is served. Immutable once serving.
struct ServedModel {
  std::string name;  ///< the one that requests may give
  std::string architecture;
  std::string device;
  std::string version;  ///< of the daemon
  int64_t parameter_count = 0;
  int32_t longest_token_bytes = 1;               ///< of the vocabulary: a text has at least its bytes / this tokens
  int32_t context_length = 0;                    ///< tokens of prompt and answer together, after model.max_context
  int32_t pool_tokens = 0;                       ///< of one sequence that the whole KV pool holds; at most 2^31 - 1
  engine::MachineLimits limits;                  ///< measured at start
  const engine::Tokenizer* tokenizer = nullptr;  ///< lent
};

}  // namespace sluice::server
