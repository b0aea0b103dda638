#include "engine/cuda/simt/simt_races.h"

#include <algorithm>
#include <bit>

#include "engine/cuda/gpu.h"

namespace sluice::gpu::simt {
namespace {

constexpr size_t kWordBytes = 4;
constexpr size_t kLanes = kWarpSize;

}  // namespace

constinit thread_local WatchedShared watched_shared;

RaceDetector::RaceDetector(size_t shared_bytes, size_t threads)
    : word_count_((shared_bytes + kWordBytes - 1) / kWordBytes), turns_(threads), known_(threads * kLanes) {}

// Vector clocks, a component for each lane: what any of them knows is before what all of them do from here on.
void RaceDetector::meet_warp(size_t first, uint32_t lanes) {
  uint32_t joined[kLanes] = {};
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(left));
    const size_t thread = first + lane;
    known_[thread * kLanes + lane] = ++turns_[thread];
    for (size_t i = 0; i < kLanes; ++i) joined[i] = std::max(joined[i], known_[thread * kLanes + i]);
  }
  for (uint32_t left = lanes; left != 0; left &= left - 1) {
    const size_t thread = first + static_cast<size_t>(std::countr_zero(left));
    std::copy_n(joined, kLanes, &known_[thread * kLanes]);
  }
}

bool RaceDetector::is_ordered(const Access& earlier, size_t thread) const {
  if (earlier.epoch != epoch_ || earlier.thread == thread) return true;
  if (earlier.thread / kLanes != thread / kLanes) return false;
  return known_[thread * kLanes + earlier.thread % kLanes] > earlier.turn;
}

bool RaceDetector::conflicts(const Access& earlier, const Access& now) const {
  return (earlier.bytes & now.bytes) != 0 && !is_ordered(earlier, now.thread);
}

// A thread may come to a word byte by byte.
void RaceDetector::keep(Access& place, const Access& now) {
  const bool continues = place.epoch == now.epoch && place.thread == now.thread && place.turn == now.turn;
  const uint8_t before = continues ? place.bytes : uint8_t{0};
  place = now;
  place.bytes |= before;
}

void RaceDetector::keep_read(Word& word, const Access& now) const {
  const Access& first = word.reads[0];
  const bool is_of_another_warp = first.epoch == epoch_ && first.thread / kLanes != now.thread / kLanes;
  keep(word.reads[is_of_another_warp ? 1 : 0], now);
}

std::optional<Race> RaceDetector::note(size_t thread, size_t offset, size_t bytes, bool writes) {
  if (words_.empty()) words_.resize(word_count_);
  const size_t end = offset + bytes;
  for (size_t at = offset; at < end;) {
    const size_t in_word = at % kWordBytes;
    const size_t count = std::min(kWordBytes - in_word, end - at);
    const Access now{.epoch = epoch_,
                     .turn = turns_[thread],
                     .thread = static_cast<uint16_t>(thread),
                     .bytes = static_cast<uint8_t>(((1U << count) - 1) << in_word)};
    Word& word = words_[at / kWordBytes];
    const size_t offset_of_word = at - in_word;
    if (conflicts(word.write, now)) return Race{offset_of_word, word.write.thread, true};
    for (const Access& read : word.reads) {
      if (writes && conflicts(read, now)) return Race{offset_of_word, read.thread, false};
    }
    if (writes) {
      keep(word.write, now);
    } else {
      keep_read(word, now);
    }
    at += count;
  }
  return std::nullopt;
}

}  // namespace sluice::gpu::simt
