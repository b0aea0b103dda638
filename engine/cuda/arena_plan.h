#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::engine::cuda {

/// Finds places in one piece of memory for buffers of which not all hold something at the same time. It is told a
/// step's operations, one after the other, and what each reads and writes; buffers share memory when no operation
/// needs both. What no operation ever wrote keeps its memory all the time.
class ArenaPlan {
 public:
  struct Buffer {
    int32_t index = -1;
    bool exists() const { return index >= 0; }
  };

  static constexpr int64_t kAlignment = 256;  ///< of every buffer; bytes

  Buffer add(int64_t bytes);
  /// Of a buffer that is to be this large at least.
  void grow(Buffer buffer, int64_t bytes);

  /// The operation gives the buffer a new meaning; what it held before is no longer needed.
  void write(Buffer buffer);
  /// The operation needs what is in the buffer, and may change it.
  void use(Buffer buffer);
  /// The next operation follows.
  void advance() { ++now_; }

  /// Finds the places; may be asked again after changes.
  void place();
  /// Bytes of memory that place() found enough, and never less than what one operation needs together.
  int64_t bytes() const { return bytes_; }
  int64_t offset(Buffer buffer) const { return entry(buffer).offset; }

 private:
  /// Operations, both ends included.
  struct Life {
    int64_t begin = 0;
    int64_t end = 0;
  };
  struct Entry {
    int64_t bytes = 0;
    int64_t offset = 0;
    std::vector<Life> lives;  // ascending; none: always
  };

  static bool meet(const Entry& a, const Entry& b);
  int64_t lowest_gap(const Entry& entry, const std::vector<const Entry*>& placed) const;
  const Entry& entry(Buffer buffer) const { return entries_.at(static_cast<size_t>(buffer.index)); }
  Entry& entry(Buffer buffer) { return entries_.at(static_cast<size_t>(buffer.index)); }

  std::vector<Entry> entries_;
  int64_t now_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace sluice::engine::cuda
