#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/status.h"

namespace sluice::engine {

/// Walks through little-endian bytes that may lie about themselves; never reads past their end.
class ByteCursor {
 public:
  /// `bytes` are lent for the cursor's life; strings it hands out point into them.
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t position() const { return position_; }
  uint64_t remaining() const { return bytes_.size() - position_; }

  template <typename T>
  requires std::is_arithmetic_v<T> Result<T> read() {
    if (remaining() < sizeof(T)) return past_end(sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  /// A 64-bit length, then that many bytes.
  Result<std::string_view> read_string() {
    SLUICE_ASSIGN_OR_RETURN(const uint64_t length, read<uint64_t>());
    SLUICE_ASSIGN_OR_RETURN(const auto bytes, read_bytes(length));
    return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  Result<std::span<const std::byte>> read_bytes(uint64_t count) {
    if (count > remaining()) return past_end(count);
    const auto bytes = bytes_.subspan(position_, static_cast<size_t>(count));
    position_ += static_cast<size_t>(count);
    return bytes;
  }

 private:
  Status past_end(uint64_t count) const {
    return invalid_argument(std::to_string(count) + " bytes wanted at offset " + std::to_string(position_) +
                            ", but the file has only " + std::to_string(remaining()) + " more");
  }

  std::span<const std::byte> bytes_;
  size_t position_ = 0;
};

}  // namespace sluice::engine
