#pragma once

#include <string>
#include <string_view>

#include <nccl.h>

#include "base/status.h"

namespace sluice::engine::cuda {

/// NVIDIA's library of sums between GPUs, or what this backend calls of it. Opened at run time, as one GPU does without
/// and it is a fifth of a gigabyte.
struct Nccl {
  /// The library stays in this process to its end. FAILED_PRECONDITION with the loader's reason when `file` isn't there
  /// or lacks a function.
  static Result<Nccl> open(const std::string& file);

  /// What became of `what`, e.g. "connecting GPUs". INTERNAL with NCCL's own words and number. Something that is still
  /// in progress is no failure.
  Status status(ncclResult_t result, std::string_view what) const;

  decltype(&ncclGetErrorString) error_string = nullptr;
  decltype(&ncclGetUniqueId) unique_id = nullptr;
  decltype(&ncclGroupStart) group_start = nullptr;
  decltype(&ncclGroupEnd) group_end = nullptr;
  decltype(&ncclCommInitRankConfig) init_rank = nullptr;
  decltype(&ncclCommGetAsyncError) async_error = nullptr;
  decltype(&ncclAllReduce) all_reduce = nullptr;
  decltype(&ncclCommDestroy) destroy = nullptr;
  decltype(&ncclCommAbort) abort = nullptr;
};

}  // namespace sluice::engine::cuda
