#include "tests/cuda_plugin/nccl/library/imagined_nccl.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <string>

namespace {

std::unique_ptr<ImaginedNccl>& state() {
  static std::unique_ptr<ImaginedNccl> owned;
  return owned;
}

ImaginedNccl& library() {
  return *state();
}

bool fails(const char* call, int rank) {
  return library().failing_call == call && library().failing_rank == rank;
}

ncclResult_t end(ncclComm_t communicator, const char* how) {
  ImaginedNccl& nccl = library();
  std::unique_lock lock(nccl.mutex);
  nccl.endings.push_back(std::string(how) + " " + std::to_string(communicator->rank));
  ++nccl.ended_count;
  nccl.changed.notify_all();
  const auto all =
      static_cast<int32_t>(std::ranges::count_if(nccl.communicators, [](const auto& one) { return one != nullptr; }));
  nccl.changed.wait(lock, [&] { return nccl.ended_count >= all && nccl.recorded_sums == 0; });
  return ncclSuccess;
}

}  // namespace

extern "C" {

ImaginedNccl* imagined_nccl() {
  state() = std::make_unique<ImaginedNccl>();
  return state().get();
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclSystemError ? "imagined system error" : "imagined error";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  id->internal[0] = 7;
  return library().id_result;
}

ncclResult_t ncclGroupStart() {
  ++library().group_depth;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  --library().group_depth;
  return ncclInProgress;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* communicator, int count, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  ImaginedNccl& nccl = library();
  const std::lock_guard lock(nccl.mutex);
  if (id.internal[0] != 7 || nccl.group_depth != 1) return ncclInvalidUsage;
  if (config->blocking != 0) nccl.is_blocking = true;
  if (fails("init", rank)) return ncclSystemError;
  nccl.communicators.resize(static_cast<size_t>(count));
  nccl.sums.resize(static_cast<size_t>(count));
  auto& made = nccl.communicators[static_cast<size_t>(rank)];
  made = std::make_unique<ncclComm>(ncclComm{.rank = rank, .calls = 1});
  *communicator = made.get();
  return ncclInProgress;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t communicator, ncclResult_t* state) {
  ImaginedNccl& nccl = library();
  const std::lock_guard lock(nccl.mutex);
  const bool all_came = std::ranges::all_of(
      nccl.communicators, [&](const auto& other) { return other != nullptr && other->calls >= communicator->calls; });
  *state = fails("state", communicator->rank) ? ncclSystemError : all_came ? ncclSuccess : ncclInProgress;
  return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t operation,
                           ncclComm_t communicator, cudaStream_t /*stream*/) {
  ImaginedNccl& nccl = library();
  const std::lock_guard lock(nccl.mutex);
  if (from != to || count == 0 || type != ncclFloat32 || operation != ncclSum) return ncclInvalidArgument;
  if (fails("all_reduce", communicator->rank)) return ncclSystemError;
  ++communicator->calls;
  ++nccl.sums[static_cast<size_t>(communicator->rank)];
  return ncclInProgress;
}

ncclResult_t ncclCommDestroy(ncclComm_t communicator) {
  return end(communicator, "destroy");
}

ncclResult_t ncclCommAbort(ncclComm_t communicator) {
  return end(communicator, "abort");
}
}
