#pragma once

#include <cstddef>
#include <utility>

#include "base/status.h"

namespace sluice::engine {

/// Zeroed memory straight from the operating system, on huge pages where it grants them: large tables read every step
/// would otherwise spend their time in page walks. Pages come into being when first touched. Aligned to a page.
/// Movable.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  /// RESOURCE_EXHAUSTED when the operating system refuses; `what` names the buffer in the message.
  static Result<HugeBuffer> allocate(size_t bytes, const char* what);

  HugeBuffer(HugeBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  ~HugeBuffer();

  size_t size() const { return size_; }
  template <typename T>
  T* as() {
    return static_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return static_cast<const T*>(data_);
  }

 private:
  HugeBuffer(void* data, size_t size) : data_(data), size_(size) {}

  void* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sluice::engine
