#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// Arrays of any plain types that are copied to a device at once, which is what a small copy costs. They keep their
/// memory on both sides from one time to the next.
class PackedArrays {
 public:
  /// Where an array begins; of the time since clear().
  struct Place {
    size_t offset = 0;
  };

  /// The device outlives it. `purpose` is for the error when it is full.
  PackedArrays(Device& device, std::string purpose) : device_(device), purpose_(std::move(purpose)) {}

  void clear() { staged_.clear(); }
  template <typename T>
  Place put(std::span<const T> values) {
    const Place place = reserve<T>(values.size());
    if (!values.empty()) std::memcpy(&staged_[place.offset], values.data(), values.size_bytes());
    return place;
  }
  template <typename T>
  Place put(const std::vector<T>& values) {
    return put(std::span(values));
  }
  /// Room that only the device writes to.
  template <typename T>
  Place reserve(size_t count) {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= kAlignment);
    const Place place{(staged_.size() + kAlignment - 1) / kAlignment * kAlignment};
    staged_.resize(place.offset + count * sizeof(T));
    return place;
  }
  /// Takes more device memory when there is more than ever before.
  Status upload();

  /// In device memory, after upload().
  template <typename T>
  T* at(Place place) const {
    return reinterpret_cast<T*>(memory_.as<std::byte>() + place.offset);
  }

 private:
  static constexpr size_t kAlignment = 16;

  Device& device_;
  const std::string purpose_;
  std::vector<std::byte> staged_;
  DeviceBuffer memory_;
};

}  // namespace sluice::engine::cuda
