#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

/// All admitted sequences in order of admission, and their loads as the policies see them.
class RunningRows {
 public:
  void add(const RunningRow& row) { rows_.push_back(row); }
  void remove(const Sequence& sequence);

  const std::vector<RunningRow>& rows() const { return rows_; }
  int32_t count() const { return static_cast<int32_t>(rows_.size()); }

  /// Takes the loads anew from the sequences.
  void measure(const kvcache::SharedBlockPool& pool);
  /// [rows] as last measured; and of those added since, if they were noted.
  std::span<const SequenceLoad> loads() const { return loads_; }
  /// One is tried on at the end of the loads, and taken off again.
  void push_load(const SequenceLoad& load) { loads_.push_back(load); }
  void pop_load() { loads_.pop_back(); }

 private:
  std::vector<RunningRow> rows_;
  std::vector<SequenceLoad> loads_;
};

/// A sequence whose table is `table`, which has or is about to get the blocks of its prompt.
SequenceLoad load_of(const Sequence& sequence, const kvcache::BlockTable& table, int32_t lengths,
                     const kvcache::SharedBlockPool& pool);

}  // namespace sluice::scheduler
