#include "scheduler/running_rows.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::scheduler {

SequenceLoad load_of(const Sequence& sequence, const kvcache::BlockTable& table, int32_t lengths,
                     const kvcache::SharedBlockPool& pool) {
  const int32_t tokens = sequence.token_count();
  const auto prompt_blocks = static_cast<int32_t>(pool.growth().blocks_for(sequence.prompt_length()));
  const int32_t to_take = std::max(0, prompt_blocks - table.count());
  return {.table = table.count() + to_take,
          .owned = table.owned_count() + to_take,
          .final_blocks = static_cast<int32_t>(pool.growth().blocks_for(int64_t{tokens} + sequence.left())),
          .tokens = tokens,
          .drawn = static_cast<int32_t>(sequence.output().size()),
          .left = sequence.left(),
          .lengths = lengths};
}

void RunningRows::remove(const Sequence& sequence) {
  const auto row =
      std::find_if(rows_.begin(), rows_.end(), [&](const RunningRow& r) { return r.sequence == &sequence; });
  SLUICE_CHECK(row != rows_.end());
  rows_.erase(row);
}

void RunningRows::measure(const kvcache::SharedBlockPool& pool) {
  loads_.clear();
  for (const RunningRow& row : rows_) {
    loads_.push_back(load_of(*row.sequence, row.sequence->table(), row.lengths, pool));
  }
}

}  // namespace sluice::scheduler
