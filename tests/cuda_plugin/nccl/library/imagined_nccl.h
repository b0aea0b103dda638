#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include <nccl.h>

struct ncclComm {
  int rank = 0;
  int calls = 0;  ///< begun, of which all ranks make the same
};

/// What a library in the place of NCCL does and has seen. Like NCCL's, its communicators are in progress until all
/// ranks have made the same call, and the end of one waits for that of the others and for recorded sums.
struct ImaginedNccl {
  // What a test sets.
  ncclResult_t id_result = ncclSuccess;
  int32_t failing_rank = -1;  ///< whose failing_call fails
  std::string failing_call;   ///< init, all_reduce, or state: what becomes of them later
  int32_t recorded_sums = 0;  ///< how many graphs keep communicators from their end

  // What it finds. Guarded by the mutex.
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::unique_ptr<ncclComm>> communicators;  // [ranks]
  int32_t group_depth = 0;
  int32_t ended_count = 0;
  std::vector<std::string> endings;  ///< "abort 0", in the order in which they came
  std::vector<int32_t> sums;         // [ranks]
  bool is_blocking = false;          ///< somebody asked for a communicator that blocks

  /// Until so many communicators are being ended.
  void wait_for_endings(int32_t count) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ended_count >= count; });
  }
  /// Lets graphs with recorded sums die.
  void destroy_graphs() {
    const std::lock_guard lock(mutex);
    recorded_sums = 0;
    changed.notify_all();
  }
};

/// A new state of the library that exports it under this name.
using ImaginedNcclEntry = ImaginedNccl*();
inline constexpr char kImaginedNcclEntry[] = "imagined_nccl";
