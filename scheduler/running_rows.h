#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kvcache/shared_block_pool.h"
#include "scheduler/request.h"
#include "scheduler/sequence.h"
#include "scheduler/sequence_load.h"

namespace sluice::scheduler {

/// An admitted sequence with what belongs to it; both lent.
struct RunningRow {
  Sequence* sequence = nullptr;
  Request* request = nullptr;
  int32_t lengths = 0;  ///< its entry in the LengthBook
};

/// All admitted sequences in order of admission, and their loads as the policies see them. A sequence that ends while a
/// step still writes to its blocks is no row any more, but its blocks are kept until that step is over.
class RunningRows {
 public:
  void add(const RunningRow& row) { rows_.push_back(row); }
  void remove(const Sequence& sequence);
  /// The blocks of one that has ended, of which the step of this number is the last to write to any.
  void keep(kvcache::BlockTable table, int32_t tokens, uint64_t step);
  /// The step is over: what was kept until then is free. Whether anything was.
  bool release_until(uint64_t step);

  const std::vector<RunningRow>& rows() const { return rows_; }
  int32_t count() const { return static_cast<int32_t>(rows_.size()); }
  /// Somebody is paused now.
  bool is_jammed() const;

  /// Takes the loads anew from the sequences.
  void measure(const kvcache::SharedBlockPool& pool);
  /// As last measured: [rows], then of those that have ended and whose blocks are kept, who want nothing and give back
  /// what they own. What policies decide on.
  std::span<const SequenceLoad> loads() const { return loads_; }
  /// [rows] as last measured.
  std::span<const SequenceLoad> row_loads() const { return loads().first(measured_rows_); }
  /// One is tried on at the end of the loads, and taken off again.
  void push_load(const SequenceLoad& load) { loads_.push_back(load); }
  void pop_load() { loads_.pop_back(); }

  /// Blocks that only those who have ended have.
  int32_t kept_blocks() const;

 private:
  struct Kept {
    kvcache::BlockTable table;
    int32_t tokens = 0;
    uint64_t step = 0;
  };

  std::vector<RunningRow> rows_;
  std::vector<Kept> kept_;
  std::vector<SequenceLoad> loads_;
  size_t measured_rows_ = 0;
};

/// A sequence whose table is `table`, which has or is about to get the blocks of its prompt.
SequenceLoad load_of(const Sequence& sequence, const kvcache::BlockTable& table, int32_t lengths,
                     const kvcache::SharedBlockPool& pool);

}  // namespace sluice::scheduler
