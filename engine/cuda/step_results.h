#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/array_layout.h"
#include "engine/cuda/device.h"
#include "engine/cuda/sampling_rows.h"

namespace sluice::engine::cuda {

/// What kernels say of a step's samples, and the way back of it: the next step may be on the device before this one's
/// results are taken.
class StepResults {
 public:
  static constexpr size_t kStepsMax = 2;  ///< whose results are under way

  /// The device outlives it.
  explicit StepResults(Device& device) : device_(device) {}

  Status allocate(int32_t samples_max);

  // In device memory, of the last step; kernels write from sample `first` on.
  int32_t* tokens(int32_t first = 0) const { return tokens_.in(memory_.as<void>()) + first; }
  LogprobRows logprobs(int32_t first) const;

  /// Asks for the copies back of a step's samples.
  Status send(int32_t count, bool has_top);
  /// Waits for the oldest step that was sent and not taken.
  Result<StepOutput> take();

 private:
  /// One step's results on this machine.
  struct Flight {
    HostBuffer memory;
    std::unique_ptr<DeviceEvent> is_here;
    int32_t count = 0;
    bool has_top = false;
  };

  template <typename T>
  Status send_back(const Flight& flight, const ArrayPlace<T>& place, int64_t count);
  SampledToken token_of(const Flight& flight, int32_t sample) const;

  Device& device_;
  ArrayPlace<int32_t> tokens_;  // [samples_max] each, the last two of kTopLogprobsRoom each
  ArrayPlace<float> logprobs_;
  ArrayPlace<int32_t> top_counts_;
  ArrayPlace<int32_t> top_tokens_;
  ArrayPlace<float> top_logprobs_;
  DeviceBuffer memory_;
  std::array<Flight, kStepsMax> flights_;
  size_t sent_ = 0;  ///< steps
  size_t taken_ = 0;
};

}  // namespace sluice::engine::cuda
