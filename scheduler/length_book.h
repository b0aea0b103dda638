#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "scheduler/output_lengths.h"

namespace sluice::scheduler {

/// What is known of how long answers get, for all requests together and for each tenant with enough of his own. Entry 0
/// is everybody's.
class LengthBook {
 public:
  LengthBook() : books_(1) {}

  /// The entry of a tenant, made at need; 0 when there are too many tenants.
  int32_t entry_of(int32_t tenant);
  /// What foretells sequences of this entry: its own estimate if enough is known, else everybody's.
  const OutputLengths& at(int32_t entry) const;

  void note_finished(int32_t entry, int32_t length, bool at_cap);
  void note_drawn(int32_t entry, int32_t drawn, bool ended);
  /// Estimates anew.
  void refresh(std::span<const SequenceLoad> running);

 private:
  std::vector<OutputLengths> books_;
  std::vector<int32_t> entries_;   // [tenant]; 0: none yet
  std::vector<SequenceLoad> own_;  // scratch of refresh
};

}  // namespace sluice::scheduler
