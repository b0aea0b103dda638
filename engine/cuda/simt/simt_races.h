#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace sluice::gpu::simt {

/// Two accesses of a word of shared memory by two threads, one of them a write, that nothing puts in an order.
struct Race {
  size_t offset = 0;   ///< bytes, of the word
  size_t earlier = 0;  ///< the thread that came first in this run
  bool wrote_earlier = false;
};

/// Watches a block's shared memory for races. A barrier of the block orders what is before it and what is after it;
/// sync_warp does so between the lanes of its mask. Shuffles, votes and products order nothing, as on a device.
///
/// It keeps of each word the last write and the last two reads by different warps: of several lanes of one warp that
/// read a word, another lane's write is only held against the last. It knows nothing of atomic accesses, and those of
/// a race in global memory show in results that depend on the order, or not at all.
class RaceDetector {
 public:
  RaceDetector(size_t shared_bytes, size_t threads);

  /// A barrier of the block, or another block: all that was before is in order with all that comes.
  void meet_block() { ++epoch_; }
  /// `lanes` of the warp that thread `first` begins meet in sync_warp.
  void meet_warp(size_t first, uint32_t lanes);
  /// The first race that bytes [offset, offset + bytes) of a thread's access make, if any.
  std::optional<Race> note(size_t thread, size_t offset, size_t bytes, bool writes);

 private:
  struct Access {
    uint32_t epoch = 0;  ///< 0: there is none
    uint32_t turn = 0;   ///< of its thread
    uint16_t thread = 0;
    uint8_t bytes = 0;  ///< of the word, a bit each
  };
  struct Word {
    Access write;
    Access reads[2];
  };

  bool is_ordered(const Access& earlier, size_t thread) const;
  bool conflicts(const Access& earlier, const Access& now) const;
  static void keep(Access& place, const Access& now);
  void keep_read(Word& word, const Access& now) const;

  const size_t word_count_;
  std::vector<Word> words_;  // made when the first access is noted
  uint32_t epoch_ = 0;
  std::vector<uint32_t> turns_;  // [threads]: a thread's calls of sync_warp
  std::vector<uint32_t> known_;  // [threads, lanes]: how many turns of its warp's lanes are before what a thread does
};

/// Where the shared memory lies of the block that runs on this OS thread: what calls of a compiler's instrumentation
/// are compared with. Plain, as these may come from anywhere.
struct WatchedShared {
  uintptr_t begin = 0;
  size_t bytes = 0;  ///< 0: none runs
};
extern constinit thread_local WatchedShared watched_shared;

/// An access by the thread that runs, of memory within watched_shared. Aborts on a race.
void note_shared_access(const void* at, size_t bytes, bool writes);

}  // namespace sluice::gpu::simt
