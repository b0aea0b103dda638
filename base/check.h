#pragma once

namespace sluice {

/// Prints the broken invariant with its place to stderr and aborts.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace sluice

/// An invariant of our own code. Input is never checked with this: bad input gets a Status.
#define SLUICE_CHECK(condition) \
  ((condition) ? static_cast<void>(0) : ::sluice::check_failed(#condition, __FILE__, __LINE__))
