#pragma once

#include <algorithm>
#include <string_view>

#include "base/clock.h"

namespace sluice::engine {

/// How a thread fared with the operating system's scheduler since it began.
struct CoreTime {
  Duration had{};     ///< on a core
  Duration lacked{};  ///< ready to run, but waiting for a core

  Duration total() const { return had + lacked; }
  /// Of the total, in [0, 1].
  double lacked_share() const {
    return total() > Duration::zero() ? std::clamp(to_seconds(lacked) / to_seconds(total()), 0.0, 1.0) : 0;
  }
};

inline CoreTime operator-(const CoreTime& a, const CoreTime& b) {
  return {a.had - b.had, a.lacked - b.lacked};
}

/// Of the calling thread; takes some microseconds. Zero where the system doesn't tell.
CoreTime own_core_time();

/// From the text of a schedstat file, "<ns on a core> <ns waiting> <turns>"; zero if it is none.
CoreTime parse_core_time(std::string_view schedstat);

}  // namespace sluice::engine
