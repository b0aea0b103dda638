#include <array>
#include <bit>
#include <string>

#include "engine/cuda/simt/simt_block.h"
#include "engine/cuda/simt/simt_calls.h"

namespace sluice::gpu::simt {
namespace {

struct ShuffleArguments {
  Shuffle how;
  int32_t by;
  uint64_t value;
  uint64_t result;
  int line;
};

struct BallotArguments {
  bool claim;
  uint32_t result;
};

const char* name_of(Shuffle how) {
  switch (how) {
    case Shuffle::kXor:
      return "shuffle_xor";
    case Shuffle::kFrom:
      return "shuffle";
    case Shuffle::kDown:
      return "shuffle_down";
    case Shuffle::kUp:
      return "shuffle_up";
  }
  return "shuffle";
}

/// The lane that a lane gets its value from: itself where there is no other.
int32_t source_of(int32_t lane, Shuffle how, int32_t by) {
  if (how == Shuffle::kXor) return lane ^ by;
  if (how == Shuffle::kFrom) return by;
  const int32_t source = how == Shuffle::kDown ? lane + by : lane - by;
  return source >= 0 && source < kWarpSize ? source : lane;
}

void carry_out_shuffle(const WarpArguments& lanes) {
  for (int32_t lane = 0; lane < kWarpSize; ++lane) {
    auto* const own = static_cast<ShuffleArguments*>(lanes[static_cast<size_t>(lane)]);
    if (own == nullptr) continue;
    const int32_t source = source_of(lane, own->how, own->by);
    const auto* const other = static_cast<ShuffleArguments*>(lanes[static_cast<size_t>(source)]);
    if (other == nullptr)
      this_block().fail(std::string(name_of(own->how)) + " by lane " + std::to_string(lane) + " from lane " +
                            std::to_string(source) + ", which is not in the mask",
                        own->line);
    own->result = other->value;
  }
}

void carry_out_ballot(const WarpArguments& lanes) {
  uint32_t claims = 0;
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    if (lanes[lane] != nullptr && static_cast<BallotArguments*>(lanes[lane])->claim) claims |= 1U << lane;
  for (void* const lane : lanes)
    if (lane != nullptr) static_cast<BallotArguments*>(lane)->result = claims;
}

}  // namespace

void sync_warp(uint32_t mask, int line) {
  char nothing = 0;
  this_block().meet_warp(
      {"sync_warp", mask, line, [](const WarpArguments& lanes) { this_block().order_lanes(lanes); }, &nothing});
}

uint64_t shuffle(Shuffle how, uint64_t value, int32_t by, uint32_t mask, int line) {
  // A device takes the lower bits of what is beyond; nobody means that.
  if (by < 0 || by >= kWarpSize)
    this_block().fail(std::string(name_of(how)) + " by " + std::to_string(by) + ", which is not in 0 to 31", line);
  ShuffleArguments arguments{how, by, value, 0, line};
  this_block().meet_warp({name_of(how), mask, line, carry_out_shuffle, &arguments});
  return arguments.result;
}

uint32_t ballot(bool claim, uint32_t mask, int line) {
  BallotArguments arguments{claim, 0};
  this_block().meet_warp({"ballot", mask, line, carry_out_ballot, &arguments});
  return arguments.result;
}

}  // namespace sluice::gpu::simt
