#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "engine/cuda/device.h"
#include "engine/cuda/step_shape.h"

namespace sluice::engine::cuda {

/// Steps of decode rows alone, recorded once for some counts of rows and lengths of contexts; a step takes the smallest
/// that holds it. At decode the launches are the cost, and a graph is launched once.
class StepGraphs {
 public:
  static constexpr int32_t kRowsMax = 256;
  /// Reserved for each: a driver keeps some hundred bytes for every launch of some hundred, and allocates by 2 MiB.
  static constexpr int64_t kGraphBytes = int64_t{2} << 20;

  /// What is to be recorded for steps of up to `tokens_max` tokens and contexts of up to `context_max`.
  void plan(int32_t tokens_max, int32_t context_max);
  std::span<const StepShape> shapes() const { return shapes_; }
  /// Of shapes()[index].
  void keep(size_t index, std::unique_ptr<DeviceGraph> graph) { graphs_.at(index) = std::move(graph); }

  /// One that is recorded and holds the step. The same on all devices that share a model: which of them draws doesn't
  /// matter.
  struct Recorded {
    DeviceGraph* graph = nullptr;  ///< nullptr: there is none
    int32_t rows = 0;
  };
  Recorded find(const StepShape& step) const;

 private:
  std::vector<StepShape> shapes_;  // by rows, then by contexts
  std::vector<std::unique_ptr<DeviceGraph>> graphs_;
};

}  // namespace sluice::engine::cuda
