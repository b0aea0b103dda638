#include "engine/cuda/drawn_tokens.h"

#include <string>

#include "engine/cuda/kernels/drawn_tokens.cuh"

namespace sluice::engine::cuda {

Status DrawnTokens::allocate(int32_t rows_max, int32_t vocab_size) {
  if (device_.rank_count() == 1) return {};
  if (vocab_size > kSharedTokensMax) {
    return failed_precondition("GPUs can't share a model of " + std::to_string(vocab_size) + " tokens, " +
                               std::to_string(kSharedTokensMax) + " at most");
  }
  const int64_t bytes = rows_max * static_cast<int64_t>(sizeof(float));
  SLUICE_ASSIGN_OR_RETURN(shared_, DeviceBuffer::allocate(device_, bytes, "tokens that another GPU drew"));
  return {};
}

void DrawnTokens::take(const StepInputs& inputs, int32_t rows, const int32_t* drawn, StepStatus& status) const {
  void* stream = device_.stream();
  if (device_.rank_count() == 1) {
    return status.add_launch(launch_take_drawn(inputs.token_ids(), inputs.drawn_before(), drawn, rows, stream),
                             "take_drawn");
  }
  auto* shared = shared_.as<float>();
  status.add_launch(launch_share_drawn(shared, inputs.drawn_before(), drawn, rows, stream), "share_drawn");
  status.add(device_.all_reduce(shared, rows));
  status.add_launch(launch_take_shared(inputs.token_ids(), inputs.drawn_before(), shared, rows, stream), "take_shared");
}

}  // namespace sluice::engine::cuda
