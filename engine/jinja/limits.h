#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace sluice::jinja {

/// What a template may use up. Past a limit compiling or rendering ends with RESOURCE_EXHAUSTED, which names it.
struct Limits {
  size_t template_bytes_max = size_t{1} << 20;
  size_t nesting_max = 200;  ///< blocks, brackets and prefix operators within each other in the source
  /// Evaluations of an expression or a statement, and one more for each 256 bytes that are built or searched.
  int64_t steps_max = 5'000'000;
  int32_t depth_max = 800;        ///< evaluations within each other: macros that call macros, long chains of operators
  int32_t value_depth_max = 100;  ///< lists and dicts within each other
  size_t value_bytes_max = size_t{64} << 20;   ///< one string, list or dict that a template builds
  size_t built_bytes_max = size_t{512} << 20;  ///< all of them together
  size_t range_max = 100'000;                  ///< entries of one range()
  size_t output_bytes_max = size_t{64} << 20;
};

/// Counts what one rendering has used of its limits.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  const Limits& limits() const { return limits_; }

  Status take_steps(int64_t steps = 1);
  /// For work on that many bytes, whether they are read or written.
  Status take_work(size_t bytes) { return take_steps(static_cast<int64_t>(bytes / 256)); }
  /// For looking for one text in another. Long ones that nearly match are compared again at each place.
  Status take_search(size_t text_bytes, size_t wanted_bytes) { return take_work(text_bytes * (1 + wanted_bytes / 16)); }
  /// Before a value of that size is built.
  Status take_value(size_t bytes);
  /// The same for `count` pieces of `bytes` each, whose product may not fit a size_t.
  Status take_values(size_t count, size_t bytes);

  Status enter();
  void leave() { --depth_; }

 private:
  const Limits limits_;
  int64_t steps_ = 0;
  size_t built_bytes_ = 0;
  int32_t depth_ = 0;
};

}  // namespace sluice::jinja
