#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/counter_random.h"

namespace sluice::gpu::simt {

/// In which order blocks, warps and lanes run where a device promises none. A right kernel gives the same in all.
struct Order {
  enum class Kind { kForward, kReverse, kShuffled };

  Kind kind = Kind::kForward;
  uint64_t seed = 0;  ///< of kShuffled
};

/// What Launch::stream points to in a test; a null stream runs forward.
struct Stream {
  Order order;
  /// Lent. Where it is set, launches are put there, to be run by whoever empties it.
  std::vector<std::function<void()>>* queue = nullptr;
};

/// The orders that a kernel's test runs under.
inline std::vector<Order> all_orders() {
  return {{Order::Kind::kForward, 0},
          {Order::Kind::kReverse, 0},
          {Order::Kind::kShuffled, 1},
          {Order::Kind::kShuffled, 2},
          {Order::Kind::kShuffled, 3}};
}

/// Draws sequence after sequence of one order.
class OrderSource {
 public:
  explicit OrderSource(Order order) : kind_(order.kind), seed_(order.seed) {}

  /// 0 to count - 1. Valid until the next call.
  const std::vector<size_t>& sequence(size_t count);
  /// Whether one that could run is to wait for another turn.
  bool skips() { return kind_ == Order::Kind::kShuffled && next() % 2 == 0; }

 private:
  uint64_t next() { return random_bits(seed_, drawn_++); }

  Order::Kind kind_;
  uint64_t seed_;
  uint64_t drawn_ = 0;
  std::vector<size_t> sequence_;
};

}  // namespace sluice::gpu::simt
