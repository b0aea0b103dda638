#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace sluice::gpu::simt {

constexpr size_t kSharedAlignment = 128;

/// A block's shared memory: exactly as long as asked for, and full of NaNs until it is written.
class SharedMemory {
 public:
  explicit SharedMemory(size_t bytes);
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void clear();
  std::byte* data() { return data_; }
  size_t bytes() const { return bytes_; }
  bool holds(const void* at, size_t bytes) const;
  /// Whether something was written behind its end, which only AddressSanitizer sees at once.
  bool is_overrun() const;

 private:
  size_t bytes_;
  std::unique_ptr<std::byte[]> memory_;
  std::byte* data_;
};

constexpr size_t kCopyBytes = 16;

/// The copies to shared memory that one thread has under way. Their bytes are NaNs, and poisoned, until it waits.
class CopyQueue {
 public:
  void add(void* to, const void* from, size_t bytes);
  void commit() { ++group_; }
  /// Carries out all committed groups but the latest `groups`, and calls `done` with where each copy went.
  void wait(int32_t groups, const std::function<void(const void* to)>& done);
  /// Forgets what was never waited for.
  void clear();

 private:
  struct Copy {
    void* to;
    const void* from;
    size_t bytes;
    int64_t group;
  };

  std::vector<Copy> copies_;  // in the order of their groups
  int64_t group_ = 0;         // the one that is not committed
};

}  // namespace sluice::gpu::simt
