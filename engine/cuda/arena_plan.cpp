#include "engine/cuda/arena_plan.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::engine::cuda {
namespace {

int64_t aligned(int64_t bytes) {
  return (bytes + ArenaPlan::kAlignment - 1) / ArenaPlan::kAlignment * ArenaPlan::kAlignment;
}

}  // namespace

ArenaPlan::Buffer ArenaPlan::add(int64_t bytes) {
  entries_.push_back({.bytes = aligned(bytes), .offset = 0, .lives = {}});
  return Buffer{static_cast<int32_t>(entries_.size()) - 1};
}

void ArenaPlan::grow(Buffer buffer, int64_t bytes) {
  entry(buffer).bytes = std::max(entry(buffer).bytes, aligned(bytes));
}

void ArenaPlan::write(Buffer buffer) {
  entry(buffer).lives.push_back({now_, now_});
}

void ArenaPlan::use(Buffer buffer) {
  std::vector<Life>& lives = entry(buffer).lives;
  SLUICE_CHECK(!lives.empty());  // nothing was written that could be read
  lives.back().end = now_;
}

bool ArenaPlan::meet(const Entry& a, const Entry& b) {
  if (a.lives.empty() || b.lives.empty()) return true;
  size_t at_a = 0;
  size_t at_b = 0;
  while (at_a < a.lives.size() && at_b < b.lives.size()) {
    const Life& of_a = a.lives[at_a];
    const Life& of_b = b.lives[at_b];
    if (of_a.begin <= of_b.end && of_b.begin <= of_a.end) return true;
    ++(of_a.end < of_b.end ? at_a : at_b);
  }
  return false;
}

/// The lowest offset where the entry fits between those of the placed that it meets, which ascend by their offsets.
int64_t ArenaPlan::lowest_gap(const Entry& entry, const std::vector<const Entry*>& placed) const {
  int64_t offset = 0;
  for (const Entry* other : placed) {
    if (!meet(entry, *other)) continue;
    if (offset + entry.bytes <= other->offset) break;
    offset = std::max(offset, other->offset + other->bytes);
  }
  return offset;
}

// The largest first: small ones find gaps.
void ArenaPlan::place() {
  std::vector<Entry*> by_size;
  for (Entry& entry : entries_) by_size.push_back(&entry);
  std::stable_sort(by_size.begin(), by_size.end(), [](const Entry* a, const Entry* b) { return a->bytes > b->bytes; });
  std::vector<const Entry*> placed;
  bytes_ = 0;
  for (Entry* entry : by_size) {
    entry->offset = lowest_gap(*entry, placed);
    bytes_ = std::max(bytes_, entry->offset + entry->bytes);
    const auto after = std::upper_bound(placed.begin(), placed.end(), entry,
                                        [](const Entry* a, const Entry* b) { return a->offset < b->offset; });
    placed.insert(after, entry);
  }
}

}  // namespace sluice::engine::cuda
