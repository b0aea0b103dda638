#pragma once

#include <cstddef>

// Of the sanitizers' runtimes, which a build has or hasn't: without one these are null.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* at, size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* at, size_t bytes);
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** kept, const void* to_bottom, size_t to_bytes);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* kept, const void** from_bottom, size_t* from_bytes);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
}

/// What the sanitizers have to be told of memory and stacks that they can't see.
namespace sluice::gpu::simt {

inline void poison(const void* at, size_t bytes) {
  if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(at, bytes);
}

inline void unpoison(const void* at, size_t bytes) {
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(at, bytes);
}

/// One stack as the sanitizers know it. Who switches says so before, on the stack that is left, and after, on the
/// other.
class WatchedStack {
 public:
  WatchedStack() = default;
  WatchedStack(const void* bottom, size_t bytes) : bottom_(bottom), bytes_(bytes), is_own_fiber_(true) {
    if (__tsan_create_fiber != nullptr) fiber_ = __tsan_create_fiber(0);
  }
  ~WatchedStack() {
    if (is_own_fiber_ && __tsan_destroy_fiber != nullptr) __tsan_destroy_fiber(fiber_);
  }
  WatchedStack(const WatchedStack&) = delete;
  WatchedStack& operator=(const WatchedStack&) = delete;

  void leave_for(WatchedStack& to) {
    if (__sanitizer_start_switch_fiber != nullptr) __sanitizer_start_switch_fiber(&kept_, to.bottom_, to.bytes_);
    if (__tsan_get_current_fiber == nullptr) return;
    fiber_ = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber_, 0);
  }
  void enter_from(WatchedStack& from) {
    if (__sanitizer_finish_switch_fiber != nullptr) __sanitizer_finish_switch_fiber(kept_, &from.bottom_, &from.bytes_);
  }

 private:
  const void* bottom_ = nullptr;
  size_t bytes_ = 0;
  void* kept_ = nullptr;   // AddressSanitizer's frames of it, while it is left
  void* fiber_ = nullptr;  // ThreadSanitizer's name of it
  bool is_own_fiber_ = false;
};

}  // namespace sluice::gpu::simt
