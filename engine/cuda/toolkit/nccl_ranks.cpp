#include "engine/cuda/toolkit/nccl_ranks.h"

#include <string_view>
#include <utility>

#include "base/check.h"

namespace sluice::engine::cuda {
namespace {

constexpr std::string_view kConnecting = "connecting GPUs";
constexpr std::string_view kAddingUp = "adding up between GPUs";

}  // namespace

Result<std::unique_ptr<NcclRanks>> NcclRanks::connect(const Nccl& nccl, int32_t rank_count,
                                                      const std::function<Status(int32_t rank)>& make_current) {
  SLUICE_CHECK(rank_count > 1);
  std::unique_ptr<NcclRanks> ranks(new NcclRanks(nccl, rank_count));
  Status connected = ranks->begin_connecting(make_current);
  for (Member& member : ranks->members_) {
    const MutexLock lock(member.mutex);
    if (connected.ok()) connected = ranks->wait_ready(member, kConnecting);
  }
  if (connected.ok()) return ranks;
  ranks->leave(0);
  return connected;
}

// Connections in progress, not calls that wait: a call that waits for other ranks can't be ended by anyone when one of
// them fails, as ncclCommAbort would take the communicator from under it.
Status NcclRanks::begin_connecting(const std::function<Status(int32_t rank)>& make_current) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclUniqueId id{};
  SLUICE_RETURN_IF_ERROR(nccl_.status(nccl_.unique_id(&id), kConnecting));
  SLUICE_RETURN_IF_ERROR(nccl_.status(nccl_.group_start(), kConnecting));
  Status begun;
  for (int32_t rank = 0; rank < rank_count() && begun.ok(); ++rank) {
    Member& member = members_[static_cast<size_t>(rank)];
    const MutexLock lock(member.mutex);
    begun = make_current(rank);
    if (!begun.ok()) break;
    begun = nccl_.status(nccl_.init_rank(&member.communicator, rank_count(), id, rank, &config), kConnecting);
  }
  const Status ended = nccl_.status(nccl_.group_end(), kConnecting);
  return begun.ok() ? ended : begun;
}

NcclRanks::~NcclRanks() {
  if (!has_left_.load()) end_all(nccl_.destroy);
  for (std::thread& thread : ending_) thread.join();
}

Status NcclRanks::status() const {
  return has_left_.load() ? unavailable("another rank of the model has failed") : Status();
}

void NcclRanks::leave(int32_t /*rank*/) {
  if (!has_left_.exchange(true)) end_all(nccl_.abort);
}

// A communicator's end may wait for that of the others, and for graphs with its sums to die, which they do after
// whoever says that a rank leaves has returned. So each has a thread, and whoever destroys this waits for them.
void NcclRanks::end_all(decltype(&ncclCommAbort) end) {
  for (Member& member : members_) {
    ending_.emplace_back([&member, end] {
      ncclComm_t ended = nullptr;
      {
        const MutexLock lock(member.mutex);
        ended = std::exchange(member.communicator, nullptr);
      }
      if (ended != nullptr) static_cast<void>(end(ended));  // nobody is left to tell of a failure
    });
  }
}

// The mutex keeps the communicator from being ended under the calls here, none of which waits for another rank.
Status NcclRanks::all_reduce(int32_t rank, float* values, int64_t count, cudaStream_t stream) {
  Member& member = members_[static_cast<size_t>(rank)];
  const MutexLock lock(member.mutex);
  SLUICE_RETURN_IF_ERROR(status());
  SLUICE_RETURN_IF_ERROR(nccl_.status(
      nccl_.all_reduce(values, values, static_cast<size_t>(count), ncclFloat32, ncclSum, member.communicator, stream),
      kAddingUp));
  return wait_ready(member, kAddingUp);
}

// The first sum of a kind connects the devices for it, which takes all of them.
Status NcclRanks::wait_ready(const Member& member, std::string_view what) const {
  for (;; std::this_thread::yield()) {
    SLUICE_RETURN_IF_ERROR(status());
    ncclResult_t state = ncclSuccess;
    SLUICE_RETURN_IF_ERROR(nccl_.status(nccl_.async_error(member.communicator, &state), what));
    if (state != ncclInProgress) return nccl_.status(state, what);
  }
}

}  // namespace sluice::engine::cuda
