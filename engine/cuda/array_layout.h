#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <vector>

#include "base/check.h"

namespace sluice::engine::cuda {

/// An array's place in memory that an ArrayLayout lays out, on this machine and on a device alike.
template <typename T>
struct ArrayPlace {
  int64_t offset = 0;  ///< bytes from the memory's beginning
  int64_t room = 0;    ///< elements

  T* in(void* memory) const { return reinterpret_cast<T*>(static_cast<std::byte*>(memory) + offset); }
  /// Writes the array's first elements; no more than there is room for.
  void put(void* memory, std::span<const T> values) const {
    SLUICE_CHECK(static_cast<int64_t>(values.size()) <= room);
    if (!values.empty()) std::memcpy(in(memory), values.data(), values.size_bytes());
  }
  void put(void* memory, const std::vector<T>& values) const { put(memory, std::span<const T>(values)); }
};

/// Lays out arrays of any plain types, one after the other, each with room for as many elements as it may have: so
/// that they lie at the same addresses in every step that is laid out alike, where what was recorded finds them.
class ArrayLayout {
 public:
  template <typename T>
  ArrayPlace<T> add(int64_t room) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    SLUICE_CHECK(room >= 0);
    const ArrayPlace<T> place{bytes_, room};
    const int64_t end = bytes_ + room * static_cast<int64_t>(sizeof(T));
    bytes_ = (end + kAlignment - 1) / kAlignment * kAlignment;
    return place;
  }
  int64_t bytes() const { return bytes_; }

 private:
  static constexpr int64_t kAlignment = 16;

  int64_t bytes_ = 0;
};

}  // namespace sluice::engine::cuda
