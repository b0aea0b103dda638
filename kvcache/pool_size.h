#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "engine/kv_layout.h"

namespace sluice::kvcache {

/// Bytes that `kv.memory` asks for: whole bytes ("1073741824"), "512MiB", "2GiB", or a share of `available_bytes`
/// ("25%", "12.5%"; above 0, at most 100). The error's field is "kv.memory".
Result<int64_t> parse_memory(std::string_view text, int64_t available_bytes);

/// Fewest blocks for each group of layers that a daemon starts with.
inline constexpr int32_t kBlockCountMin = 2;

/// How many blocks of `layout` fit in `bytes`; slot numbers are 32 bits wide, so never more than 2^31 - 1 slots. Fewer
/// than `block_count_min` for each group of layers is an error that names both numbers and the memory it would take;
/// its field is "kv.memory".
Result<int32_t> block_count_for(const engine::KvLayout& layout, int64_t bytes,
                                int32_t block_count_min = kBlockCountMin);

}  // namespace sluice::kvcache
