#include "kvcache/eviction_list.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::kvcache {

EvictionList::EvictionList(int32_t block_count) : links_(static_cast<size_t>(std::max(block_count, 0)) + 1) {
  SLUICE_CHECK(block_count >= 1);
  at(end()) = {.previous = end(), .next = end()};
}

int32_t EvictionList::front() const {
  SLUICE_CHECK(!empty());
  return links_.back().next;
}

void EvictionList::push_back(int32_t block) {
  SLUICE_CHECK(at(block).next == kOutside);
  const int32_t last = at(end()).previous;
  at(block) = {.previous = last, .next = end()};
  at(last).next = block;
  at(end()).previous = block;
  ++size_;
}

void EvictionList::remove(int32_t block) {
  const Links links = at(block);
  SLUICE_CHECK(links.next != kOutside);
  at(links.previous).next = links.next;
  at(links.next).previous = links.previous;
  at(block) = {};
  --size_;
}

}  // namespace sluice::kvcache
