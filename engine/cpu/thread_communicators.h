#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/communicator.h"
#include "engine/cpu/gate.h"

namespace sluice::engine {

/// Communicators of ranks that are threads of this process: each adds up its own part of the values where they are.
class ThreadCommunicators final : public CommunicatorGroup {
 public:
  explicit ThreadCommunicators(int32_t rank_count);

  int32_t rank_count() const override { return static_cast<int32_t>(values_.size()); }
  Communicator& of(int32_t rank) override { return members_.at(static_cast<size_t>(rank)); }

 private:
  class Member final : public Communicator {
   public:
    Member(ThreadCommunicators& group, int32_t rank) : group_(group), rank_(rank) {}

    Rank rank() const override { return {rank_, group_.rank_count()}; }
    Status all_reduce(std::span<float> values) override { return group_.all_reduce(rank_, values); }
    void leave() override { group_.break_up(); }

   private:
    ThreadCommunicators& group_;
    const int32_t rank_;
  };

  Status all_reduce(int32_t rank, std::span<float> values);
  void add_up(int32_t rank);
  Status meet();
  void break_up();

  std::deque<Member> members_;
  std::vector<std::span<float>> values_;  // [ranks], each written by its rank before they meet
  std::atomic<int32_t> arrived_ = 0;
  std::atomic<uint32_t> meetings_ = 0;  ///< that all ranks came to
  std::atomic<bool> has_left_ = false;
  Gate met_;
};

}  // namespace sluice::engine
