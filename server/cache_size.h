#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/kv_layout.h"
#include "server/config.h"

namespace sluice::server {

/// What is left for a cache beside the weights, in the memory that it is kept in.
struct CacheMemory {
  int64_t available = 0;  ///< bytes
  bool is_own = false;    ///< the device's, which nobody else needs
};

/// Blocks that kv.memory pays for; auto is 90% of memory of one's own, else 25%. The error's field is "kv.memory" when
/// that is more than there is, or too few blocks.
Result<int32_t> cache_block_count(const KvSection& section, const engine::KvLayout& layout, const CacheMemory& memory);

}  // namespace sluice::server
