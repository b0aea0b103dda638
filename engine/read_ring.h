#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

struct io_uring;  // liburing's

namespace sluice::engine {

/// One read of a range of a file.
struct RingRead {
  std::byte* to = nullptr;
  int64_t offset = 0;
  uint32_t bytes = 0;
  int32_t done = 0;  ///< bytes read, maybe fewer than asked for; or -errno
};

/// Several reads under way at once, by io_uring. Movable; one thread.
class ReadRing {
 public:
  static constexpr uint32_t kDepth = 16;

  /// nullopt when the system refuses a ring with room for so many reads, as it does in many containers.
  static std::optional<ReadRing> make(uint32_t depth = kDepth);

  /// Does all the reads, of which there are at most the ring's depth, and sets their `done`. None is under way any more
  /// when this returns.
  void read(int fd, std::span<RingRead> reads);

 private:
  struct TakeDown {
    void operator()(io_uring* ring) const;
  };

  ReadRing(std::unique_ptr<io_uring, TakeDown> ring, uint32_t depth) : ring_(std::move(ring)), depth_(depth) {}

  size_t submit(size_t count);
  void take_one();

  std::unique_ptr<io_uring, TakeDown> ring_;
  uint32_t depth_;
  bool is_broken_ = false;  ///< reads that could not be submitted are left in it
};

}  // namespace sluice::engine
