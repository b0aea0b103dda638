#include "server/cache_size.h"

#include <string>
#include <string_view>

#include "kvcache/pool_size.h"

namespace sluice::server {
namespace {

std::string in_mib(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

}  // namespace

Result<int32_t> cache_block_count(const KvSection& section, const engine::KvLayout& layout, const CacheMemory& memory) {
  const std::string_view automatic = memory.is_own ? "90%" : "25%";
  const std::string_view text = section.memory == "auto" ? automatic : std::string_view(section.memory);
  SLUICE_ASSIGN_OR_RETURN(const int64_t wanted, kvcache::parse_memory(text, memory.available));
  if (wanted > memory.available) {
    return invalid_field("kv.memory", "asks for " + in_mib(wanted) + ", but only " + in_mib(memory.available) +
                                          " are free beside the model; ask for less");
  }
  return kvcache::block_count_for(layout, wanted);
}

}  // namespace sluice::server
