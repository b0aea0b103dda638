#pragma once

#include <array>
#include <string_view>

namespace sluice::server {

/// How a request ended, for the `outcome` label.
enum class Outcome {
  kStop,       ///< every sequence ended by itself, at least one of them by an end token, a stop token or a stop string
  kLength,     ///< every sequence ran into its length limit
  kCancelled,  ///< by the client
  kDeadline,   ///< its deadline passed
  kError,      ///< failed after it was accepted
  kRefused,    ///< not accepted, for want of room
  kInvalid,    ///< not accepted, as it was no valid request
};

inline constexpr std::array kOutcomes{Outcome::kStop,  Outcome::kLength,  Outcome::kCancelled, Outcome::kDeadline,
                                      Outcome::kError, Outcome::kRefused, Outcome::kInvalid};

std::string_view outcome_name(Outcome outcome);

}  // namespace sluice::server
