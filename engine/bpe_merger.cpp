#include "engine/bpe_merger.h"

#include <algorithm>

namespace sluice::engine {
namespace {

constexpr int32_t kNone = -1;

using Candidate = BpeMerger::Scratch::Candidate;
using Symbol = BpeMerger::Scratch::Symbol;

/// A heap with this order has the lowest rank, and of equal ranks the leftmost, in front.
bool comes_later(const Candidate& a, const Candidate& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.at > b.at;
}

Symbol& symbol_at(std::vector<Symbol>& symbols, int32_t at) {
  return symbols[static_cast<size_t>(at)];
}

/// Joins the symbol at `at` with the next one. The swallowed one gets no id, so candidates that name it are seen to be
/// stale.
void join(std::vector<Symbol>& symbols, int32_t at, int32_t merged) {
  Symbol& left = symbol_at(symbols, at);
  Symbol& right = symbol_at(symbols, left.next);
  left.id = merged;
  left.next = right.next;
  right.id = kNone;
  if (right.next != kNone) symbol_at(symbols, right.next).previous = at;
}

}  // namespace

BpeMerger::BpeMerger(std::span<const std::optional<int32_t>> byte_ids, std::span<const BpeMerge> merges)
    : byte_ids_(byte_ids.begin(), byte_ids.end()) {
  SLUICE_CHECK(byte_ids_.size() == 256);
  rules_.reserve(merges.size());
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const BpeMerge& merge = merges[rank];
    rules_.emplace(Pair{merge.left, merge.right}, Rule{static_cast<int32_t>(rank), merge.merged});
  }
}

void BpeMerger::encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  start(word, scratch);
  if (scratch.symbols.empty()) return;
  merge_all(scratch);
  // The first symbol is never swallowed: a merge keeps its left place.
  for (int32_t at = 0; at != kNone; at = symbol_at(scratch.symbols, at).next) {
    ids.push_back(symbol_at(scratch.symbols, at).id);
  }
}

void BpeMerger::start(std::string_view word, Scratch& scratch) const {
  scratch.symbols.clear();
  scratch.heap.clear();
  for (const char byte : word) {
    const std::optional<int32_t> id = byte_ids_[static_cast<uint8_t>(byte)];
    if (!id) continue;
    const auto at = static_cast<int32_t>(scratch.symbols.size());
    scratch.symbols.push_back({.id = *id, .previous = at - 1, .next = at + 1});
  }
  if (!scratch.symbols.empty()) scratch.symbols.back().next = kNone;
}

void BpeMerger::consider(int32_t at, Scratch& scratch) const {
  const Symbol& left = symbol_at(scratch.symbols, at);
  if (left.next == kNone) return;
  const Symbol& right = symbol_at(scratch.symbols, left.next);
  const auto rule = rules_.find({left.id, right.id});
  if (rule == rules_.end()) return;
  scratch.heap.push_back({.rank = rule->second.rank, .at = at, .left = left.id, .right = right.id});
}

void BpeMerger::merge_all(Scratch& scratch) const {
  std::vector<Candidate>& heap = scratch.heap;
  const auto count = static_cast<int32_t>(scratch.symbols.size());
  for (int32_t at = 0; at < count; ++at) consider(at, scratch);
  std::make_heap(heap.begin(), heap.end(), comes_later);
  const auto push = [&](int32_t at) {
    const size_t before = heap.size();
    consider(at, scratch);
    if (heap.size() > before) std::push_heap(heap.begin(), heap.end(), comes_later);
  };
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), comes_later);
    const Candidate best = heap.back();
    heap.pop_back();
    const Symbol& left = symbol_at(scratch.symbols, best.at);
    const bool is_stale =
        left.id != best.left || left.next == kNone || symbol_at(scratch.symbols, left.next).id != best.right;
    if (is_stale) continue;
    join(scratch.symbols, best.at, rules_.find({best.left, best.right})->second.merged);
    push(best.at);
    if (left.previous != kNone) push(left.previous);
  }
}

}  // namespace sluice::engine
