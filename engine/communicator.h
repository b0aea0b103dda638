#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/rank.h"
#include "engine/rank_group.h"

namespace sluice::engine {

/// What one rank reaches the others through. One thread, the rank's. All ranks make the same calls in the same order.
class Communicator {
 public:
  virtual ~Communicator() = default;

  virtual Rank rank() const = 0;

  /// Makes each value its sum over the ranks, added up in their order: all ranks get the same bits. As many values on
  /// every rank. Waits for all of them; fails when one has left, and then the values mean nothing.
  virtual Status all_reduce(std::span<float> values) = 0;

  /// This rank doesn't come any more: sums that wait for it fail, and so do all later ones, on every rank.
  virtual void leave() = 0;
};

/// The communicators of all ranks.
class CommunicatorGroup : public RankGroup {
 public:
  /// Lives as long as the group.
  virtual Communicator& of(int32_t rank) = 0;

  void leave(int32_t rank) final { of(rank).leave(); }
};

}  // namespace sluice::engine
