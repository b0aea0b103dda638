#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include "base/status.h"

namespace sluice::engine::cuda {

/// The first failure of a step. Operations return nothing, so what fails is kept until the step's end; what is asked of
/// the device after it does no harm.
class StepStatus {
 public:
  void begin() { first_ = Status(); }
  void add(Status status) {
    if (first_.ok()) first_ = std::move(status);
  }
  /// What gpu::launch returned for `kernel`.
  void add_launch(int32_t code, const char* kernel) {
    if (code != 0) add(internal_error(std::string("launching ") + kernel + ": CUDA error " + std::to_string(code)));
  }
  const Status& first() const { return first_; }

 private:
  Status first_;
};

}  // namespace sluice::engine::cuda
