#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/cuda/gpu.h"
#include "engine/cuda/simt/simt_fiber.h"
#include "engine/cuda/simt/simt_order.h"
#include "engine/cuda/simt/simt_races.h"
#include "engine/cuda/simt/simt_shared.h"

namespace sluice::gpu::simt {

/// The arguments of a warp's operation, by lane; null for those that are not in the mask.
using WarpArguments = std::array<void*, kWarpSize>;

/// A warp's operation as one lane has called it. It lives on that lane's stack until the lane goes on.
struct WarpCall {
  const char* name;  // one address for each operation
  uint32_t mask;
  int line;
  /// Carries it out for all lanes, once all have come.
  void (*carry_out)(const WarpArguments& lanes);
  void* arguments;
};

/// The threads of one block as fibers, which it runs block after block.
///
/// Warps run one after the other, each as far as the block's barrier: a warp that reads what another has yet to write
/// without a barrier between them reads NaNs in one order or the other.
class Block {
 public:
  /// `body` is the kernel with its arguments, for one thread.
  Block(const Launch& how, std::string kernel, const std::function<void()>& body, FiberStacks& stacks);

  void run(Dim3 index, OrderSource& order);

  // Called by the thread that runs.
  Dim3 index() const { return index_; }
  Dim3 size() const { return size_; }
  Dim3 grid() const { return grid_; }
  size_t thread() const { return running_; }
  SharedMemory& shared() { return shared_; }
  CopyQueue& copies() { return threads_[running_].copies; }
  bool& has_waited_for_previous() { return threads_[running_].has_waited_for_previous; }
  void wait_for_block(int line);
  void meet_warp(const WarpCall& call);
  /// What the lanes of the running thread's warp that have arguments did is before what they do.
  void order_lanes(const WarpArguments& lanes);
  /// Of shared memory. Aborts on a race.
  void note_access(const void* at, size_t bytes, bool writes);
  /// Aborts with the kernel, the thread that runs and the line; 0 for none.
  [[noreturn]] void fail(const std::string& message, int line) const;

  Dim3 position(size_t thread) const { return threads_[thread].position; }

 private:
  enum class State { kRunnable, kAtBarrier, kInWarpCall, kReturned };

  struct Thread {
    Block* block = nullptr;
    Dim3 position;
    Fiber fiber;
    State state = State::kReturned;
    int line = 0;                    // of the barrier
    const WarpCall* call = nullptr;  // in a warp call
    CopyQueue copies;
    bool has_waited_for_previous = false;
  };

  static void live(void* thread);
  void start(Dim3 index);
  void run_warp(size_t warp, OrderSource& order);
  void open_barrier();
  void check_end() const;
  void leave_warp(const char* how, int line);
  void check_mask(const WarpCall& call) const;
  void check_all_will_come(const WarpCall& call) const;
  void check_all_agree(const WarpCall& call) const;
  [[noreturn]] void fail_for_difference(const WarpCall& call, size_t partner) const;
  void carry_out(const WarpCall& call);
  std::string name_of(size_t thread) const;
  size_t warp_begin() const { return running_ / kWarpSize * kWarpSize; }
  uint32_t own_bit() const { return 1U << running_ % kWarpSize; }
  /// The lanes of the running thread's warp that wait in an operation of it.
  uint32_t lanes_in_call() const { return lanes_in_call_[running_ / kWarpSize]; }
  void be_absent(State how);
  uint32_t& lanes_in_call() { return lanes_in_call_[running_ / kWarpSize]; }

  Dim3 grid_;
  Dim3 size_;
  Dim3 index_;
  std::string kernel_;
  const std::function<void()>& body_;
  const bool overlaps_previous_;
  SharedMemory shared_;
  RaceDetector races_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> lanes_in_call_;  // [warps]
  std::vector<uint32_t> absent_lanes_;   // [warps]: that have returned or wait at the block's barrier
  size_t running_ = 0;
  size_t at_barrier_ = 0;  // a thread that waits there, if any does
  size_t waiting_count_ = 0;
  size_t live_count_ = 0;
};

/// The block whose thread runs. Aborts outside of a kernel.
Block& this_block();

}  // namespace sluice::gpu::simt
