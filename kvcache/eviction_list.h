#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace sluice::kvcache {

/// Blocks in the order in which they are to be evicted. A doubly linked list whose links are indexed by block: every
/// operation is O(1), and none allocates.
class EvictionList {
 public:
  explicit EvictionList(int32_t block_count);

  bool empty() const { return size_ == 0; }
  int32_t size() const { return size_; }
  /// The block to evict first. Not when empty.
  int32_t front() const;
  /// Puts a block that isn't in the list at its end: it's evicted after all others.
  void push_back(int32_t block);
  /// Takes a block that is in the list out of it.
  void remove(int32_t block);

 private:
  struct Links {
    int32_t previous = kOutside;
    int32_t next = kOutside;
  };
  static constexpr int32_t kOutside = -1;

  int32_t end() const { return static_cast<int32_t>(links_.size()) - 1; }
  Links& at(int32_t block) { return links_[static_cast<size_t>(block)]; }

  // [block_count + 1]; the last one closes the ring, so that neither end is a special case.
  std::vector<Links> links_;
  int32_t size_ = 0;
};

}  // namespace sluice::kvcache
