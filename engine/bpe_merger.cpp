#include "engine/bpe_merger.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "engine/utf8.h"

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

void add_symbol(std::vector<Symbol>& symbols, int32_t id) {
  const auto at = static_cast<int32_t>(symbols.size());
  symbols.push_back({.id = id, .previous = at - 1, .next = at + 1});
}

/// Remembers what has no token until it is known how far the run of it goes.
class UnknownRun {
 public:
  UnknownRun(std::optional<int32_t> id, bool fuses, std::vector<Symbol>& symbols)
      : id_(id), fuses_(fuses), symbols_(symbols) {}

  void extend() {
    if (!id_) return;
    if (!fuses_) end();
    is_open_ = true;
  }
  void end() {
    if (is_open_) add_symbol(symbols_, *id_);
    is_open_ = false;
  }

 private:
  const std::optional<int32_t> id_;
  const bool fuses_;
  std::vector<Symbol>& symbols_;
  bool is_open_ = false;
};

}  // namespace

BpeMerger::BpeMerger(BpeSymbols symbols, std::span<const BpeMerge> merges) : symbols_(std::move(symbols)) {
  SLUICE_CHECK(symbols_.byte_ids.size() == 256);
  rules_.reserve(merges.size());
  for (const BpeMerge& merge : merges) {
    rules_.emplace(Pair{merge.left, merge.right}, Rule{.rank = merge.rank, .merged = merge.merged});
  }
}

void BpeMerger::encode(std::string_view word, Scratch& scratch, std::vector<int32_t>& ids) const {
  scratch.symbols.clear();
  scratch.heap.clear();
  if (symbols_.are_characters) {
    start_characters(word, scratch);
  } else {
    start_bytes(word, scratch);
  }
  if (scratch.symbols.empty()) return;
  scratch.symbols.back().next = kNone;
  merge_all(scratch);
  // The first symbol is never swallowed: a merge keeps its left place.
  for (int32_t at = 0; at != kNone; at = symbol_at(scratch.symbols, at).next) {
    ids.push_back(symbol_at(scratch.symbols, at).id);
  }
}

void BpeMerger::start_bytes(std::string_view word, Scratch& scratch) const {
  UnknownRun unknown(symbols_.unknown_id, symbols_.fuses_unknown, scratch.symbols);
  for (const char byte : word) {
    const std::optional<int32_t> id = symbols_.byte_ids[static_cast<uint8_t>(byte)];
    if (!id) {
      unknown.extend();
      continue;
    }
    unknown.end();
    add_symbol(scratch.symbols, *id);
  }
  unknown.end();
}

void BpeMerger::start_characters(std::string_view word, Scratch& scratch) const {
  UnknownRun unknown(symbols_.unknown_id, symbols_.fuses_unknown, scratch.symbols);
  while (!word.empty()) {
    const std::string_view character = word.substr(0, utf8_step(word).size);
    word.remove_prefix(character.size());
    const auto token = symbols_.character_ids.find(first_character(character));
    if (token != symbols_.character_ids.end()) {
      unknown.end();
      add_symbol(scratch.symbols, token->second);
    } else if (!add_as_bytes(character, scratch)) {
      unknown.extend();
    }
  }
  unknown.end();
}

bool BpeMerger::add_as_bytes(std::string_view character, Scratch& scratch) const {
  const auto id_of = [&](char byte) { return symbols_.byte_ids[static_cast<uint8_t>(byte)]; };
  for (const char byte : character) {
    if (!id_of(byte)) return false;
  }
  for (const char byte : character) add_symbol(scratch.symbols, *id_of(byte));
  return true;
}

const BpeMerger::Rule* BpeMerger::rule_of(int32_t left, int32_t right) const {
  const auto rule = rules_.find({left, right});
  return rule == rules_.end() ? nullptr : &rule->second;
}

void BpeMerger::consider(int32_t at, Scratch& scratch) const {
  const Symbol& left = symbol_at(scratch.symbols, at);
  if (left.next == kNone) return;
  const Rule* const rule = rule_of(left.id, symbol_at(scratch.symbols, left.next).id);
  if (rule != nullptr) scratch.heap.push_back({.rank = rule->rank, .at = at, .merged = rule->merged});
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
    if (!merge(best, scratch)) continue;
    push(best.at);
    const int32_t previous = symbol_at(scratch.symbols, best.at).previous;
    if (previous != kNone) push(previous);
  }
}

bool BpeMerger::merge(const Candidate& candidate, Scratch& scratch) const {
  const Symbol& left = symbol_at(scratch.symbols, candidate.at);
  if (left.id == kNone || left.next == kNone) return false;
  // Where other neighbours have come to lie there that make the same token, the candidate's rank still holds: Hugging
  // Face's tokenizers and SentencePiece look at the token alone, too.
  const Rule* const rule = rule_of(left.id, symbol_at(scratch.symbols, left.next).id);
  if (rule == nullptr || rule->merged != candidate.merged) return false;
  join(scratch.symbols, candidate.at, rule->merged);
  return true;
}

}  // namespace sluice::engine
