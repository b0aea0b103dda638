#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/communicator.h"
#include "engine/cpu/activation.h"
#include "engine/cpu/thread_pool.h"

namespace sluice::engine::cpu {

/// The sum over the ranks of products that each has a part of. Keeps the first failure of a step, as operations return
/// nothing.
class RankSum {
 public:
  /// `communicator` is lent; nullptr for a model of one rank.
  explicit RankSum(Communicator* communicator) : communicator_(communicator) {}

  /// Products are parts of sums.
  bool exists() const { return communicator_ != nullptr; }

  void begin_step() { failure_ = Status(); }
  const Status& failure() const { return failure_; }

  /// Returns when every worker of the region has come here and the first tokens are whole: what they wrote, and what
  /// those of the other ranks wrote, added up.
  void complete(ThreadPool::Worker& worker, Activation& product, int32_t tokens) {
    worker.barrier();
    if (!exists()) return;
    if (worker.index() == 0) add_up({product.row(0), static_cast<size_t>(tokens) * static_cast<size_t>(product.width)});
    worker.barrier();
  }

 private:
  void add_up(std::span<float> values) {
    const Status status = communicator_->all_reduce(values);
    if (failure_.ok()) failure_ = status;
  }

  Communicator* communicator_;
  Status failure_;
};

}  // namespace sluice::engine::cpu
