#pragma once

#include <cstddef>
#include <optional>

#include "engine/cuda/simt/simt_sanitizer.h"

namespace sluice::gpu::simt {

/// Memory for the stacks of many fibers, each with a page behind its end that nobody may touch. One is mapped when it
/// is first asked for.
class FiberStacks {
 public:
  explicit FiberStacks(size_t count);
  ~FiberStacks();
  FiberStacks(const FiberStacks&) = delete;
  FiberStacks& operator=(const FiberStacks&) = delete;

  std::byte* bottom(size_t index);
  static size_t bytes();

 private:
  size_t mapped_bytes_;
  std::byte* mapped_;
  size_t guarded_count_ = 0;  // from the first
};

/// A function that runs on a stack of its own and can stop in its middle. It never returns: it yields.
class Fiber {
 public:
  using Function = void (*)(void* argument);

  Fiber() = default;
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  /// `bottom` is the lowest byte of a stack of FiberStacks::bytes().
  void prepare(std::byte* bottom, Function function, void* argument);
  /// Runs it until it yields. From outside.
  void resume();
  /// Back to who has resumed it. From inside.
  void yield();

 private:
  static void enter(Fiber* self);

  Function function_ = nullptr;
  void* argument_ = nullptr;
  std::byte* bottom_ = nullptr;
  void* own_stack_pointer_ = nullptr;
  void* outer_stack_pointer_ = nullptr;
  std::optional<WatchedStack> own_;
  WatchedStack outer_;
};

}  // namespace sluice::gpu::simt
