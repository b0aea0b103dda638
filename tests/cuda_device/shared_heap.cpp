#include "tests/cuda_device/shared_heap.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <new>
#include <utility>

#include <cuda_runtime.h>

namespace {

/// One large piece of pinned memory, lent in pieces of powers of two, each at a multiple of its size. Until it is open,
/// and for what was taken before, the C library's heap.
class SharedHeap {
 public:
  cudaError_t open() { return cudaHostAlloc(&begin_, kRoom, cudaHostAllocMapped); }

  /// Null when there is no room.
  void* take(size_t bytes, size_t alignment) {
    alignment = std::max(alignment, kHeader);
    if (begin_ == nullptr) return std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    const auto size_class = static_cast<size_t>(std::bit_width(bytes + alignment - 1));
    auto* const piece = static_cast<std::byte*>(take_piece(size_class));
    if (piece == nullptr) return nullptr;
    std::byte* const memory = piece + alignment;
    new (memory - kHeader) Taken{piece, size_class};
    return memory;
  }

  void give_back(void* memory) {
    auto* const at = static_cast<std::byte*>(memory);
    auto* const begin = static_cast<std::byte*>(begin_);
    if (begin == nullptr || at < begin || at >= begin + kRoom) return std::free(memory);
    const Taken taken = *reinterpret_cast<const Taken*>(at - kHeader);
    const std::lock_guard lock(mutex_);
    Free*& first = free_[taken.size_class];
    first = new (taken.piece) Free{first};
  }

 private:
  /// Stands before what was taken.
  struct Taken {
    void* piece;
    size_t size_class;
  };
  struct Free {
    Free* next;
  };
  static constexpr size_t kRoom = size_t{1} << 30;
  static constexpr size_t kHeader = 16;
  static_assert(sizeof(Taken) == kHeader);

  void* take_piece(size_t size_class) {
    const size_t bytes = size_t{1} << size_class;
    const std::lock_guard lock(mutex_);
    Free*& first = free_[size_class];
    if (first != nullptr) return std::exchange(first, first->next);
    const size_t at = (used_ + bytes - 1) / bytes * bytes;
    if (at + bytes > kRoom) return nullptr;
    used_ = at + bytes;
    return static_cast<std::byte*>(begin_) + at;
  }

  std::mutex mutex_;
  void* begin_ = nullptr;
  size_t used_ = 0;
  std::array<Free*, 64> free_{};  // [size class]
};

// The operators below are called without an object to ask, before main() too; and nothing may end it before the last of
// them was called.
constinit SharedHeap heap;

void* take_or_throw(size_t bytes, size_t alignment) {
  void* const memory = heap.take(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

int sluice::gpu::use_shared_heap() {
  return static_cast<int>(heap.open());
}

// The library's other forms of new and delete come to these.
void* operator new(size_t bytes) {
  return take_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new(size_t bytes, std::align_val_t alignment) {
  return take_or_throw(bytes, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  heap.give_back(memory);
}
void operator delete(void* memory, size_t /*bytes*/) noexcept {
  heap.give_back(memory);
}
void operator delete(void* memory, std::align_val_t /*alignment*/) noexcept {
  heap.give_back(memory);
}
void operator delete(void* memory, size_t /*bytes*/, std::align_val_t /*alignment*/) noexcept {
  heap.give_back(memory);
}
