#include "scheduler/running_rows.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace sluice::scheduler {

SequenceLoad load_of(const Sequence& sequence, const kvcache::BlockTable& table, int32_t lengths,
                     const kvcache::SharedBlockPool& pool) {
  const int32_t tokens = sequence.foreseen_count();
  const auto prompt_blocks = static_cast<int32_t>(pool.growth().blocks_for(sequence.prompt_length()));
  const int32_t to_take = std::max(0, prompt_blocks - table.count());
  return {.table = table.count() + to_take,
          .owned = table.owned_count() + to_take,
          .final_blocks = static_cast<int32_t>(pool.growth().blocks_for(int64_t{tokens} + sequence.left())),
          .tokens = tokens,
          .drawn = sequence.drawn_count(),
          .left = sequence.left(),
          .lengths = lengths};
}

void RunningRows::remove(const Sequence& sequence) {
  const auto row =
      std::find_if(rows_.begin(), rows_.end(), [&](const RunningRow& r) { return r.sequence == &sequence; });
  SLUICE_CHECK(row != rows_.end());
  rows_.erase(row);
}

void RunningRows::keep(kvcache::BlockTable table, int32_t tokens, uint64_t step) {
  kept_.push_back({.table = std::move(table), .tokens = tokens, .step = step});
}

bool RunningRows::release_until(uint64_t step) {
  return std::erase_if(kept_, [step](const Kept& kept) { return kept.step <= step; }) > 0;
}

bool RunningRows::is_jammed() const {
  return std::ranges::any_of(rows_, [](const RunningRow& row) { return row.sequence->is_paused(); });
}

void RunningRows::measure(const kvcache::SharedBlockPool& pool) {
  loads_.clear();
  for (const RunningRow& row : rows_) {
    loads_.push_back(load_of(*row.sequence, row.sequence->table(), row.lengths, pool));
  }
  measured_rows_ = loads_.size();
  for (const Kept& kept : kept_) {
    loads_.push_back({.table = kept.table.count(),
                      .owned = kept.table.owned_count(),
                      .final_blocks = kept.table.count(),
                      .tokens = kept.tokens});
  }
}

int32_t RunningRows::kept_blocks() const {
  int32_t blocks = 0;
  for (const Kept& kept : kept_) blocks += kept.table.owned_count();
  return blocks;
}

}  // namespace sluice::scheduler
