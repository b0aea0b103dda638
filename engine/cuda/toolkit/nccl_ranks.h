#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "engine/cuda/toolkit/nccl.h"
#include "engine/rank_group.h"

namespace sluice::engine::cuda {

/// GPUs of this process that share a model, a rank each, connected by NCCL. Each rank's sums are its own thread's
/// business; those of the group are anyone's. Outlives the graphs that its sums were recorded in, as NCCL waits for
/// them to die before it lets go of a rank.
class NcclRanks final : public RankGroup {
 public:
  /// `make_current` makes a rank's device that of the calling thread. INTERNAL with NCCL's reason when it can't connect
  /// them.
  static Result<std::unique_ptr<NcclRanks>> connect(const Nccl& nccl, int32_t rank_count,
                                                    const std::function<Status(int32_t rank)>& make_current);
  ~NcclRanks() override;
  NcclRanks(const NcclRanks&) = delete;
  NcclRanks& operator=(const NcclRanks&) = delete;

  int32_t rank_count() const override { return static_cast<int32_t>(members_.size()); }
  void leave(int32_t rank) override;

  /// UNAVAILABLE once a rank has left: what a stream of any rank did since may have ended without a sum.
  Status status() const;
  /// Device::all_reduce() of a rank, on its stream, which may be recording; its device is current. Returns when the sum
  /// is on the stream.
  Status all_reduce(int32_t rank, float* values, int64_t count, cudaStream_t stream);

 private:
  struct Member {
    Mutex mutex;
    ncclComm_t communicator SLUICE_GUARDED_BY(mutex) = nullptr;  ///< none before it is connected and after the end
  };

  NcclRanks(const Nccl& nccl, int32_t rank_count) : nccl_(nccl), members_(static_cast<size_t>(rank_count)) {}

  Status begin_connecting(const std::function<Status(int32_t rank)>& make_current);
  Status wait_ready(const Member& member, std::string_view what) const SLUICE_REQUIRES(member.mutex);
  void end_all(decltype(&ncclCommAbort) end);

  const Nccl nccl_;
  std::deque<Member> members_;  // [ranks]
  std::atomic<bool> has_left_ = false;
  std::vector<std::thread> ending_;  // one for each communicator that is ended
};

/// A device's place among others.
struct NcclRank {
  NcclRanks* ranks = nullptr;  ///< lent; nullptr: there are no others
  int32_t index = 0;
};

}  // namespace sluice::engine::cuda
