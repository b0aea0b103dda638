#include "engine/cuda/device_sampler.h"

#include <algorithm>

#include "engine/logit_row.h"

namespace sluice::engine::cuda {

Status DeviceSampler::reserve(const HeadSize& head) {
  constexpr auto kRowFloats = static_cast<int64_t>(sizeof(float)) * kRowsMax;
  if (head.width * kRowFloats > gathered_.bytes()) {
    SLUICE_ASSIGN_OR_RETURN(gathered_, DeviceBuffer::allocate(device_, head.width * kRowFloats, "sampled rows"));
  }
  if (head.vocab_size * kRowFloats > logits_.bytes()) {
    SLUICE_ASSIGN_OR_RETURN(logits_, DeviceBuffer::allocate(device_, head.vocab_size * kRowFloats, "logits"));
    host_logits_.resize(static_cast<size_t>(kRowsMax) * static_cast<size_t>(head.vocab_size));
    block_tops_.resize(logit_block_count(static_cast<size_t>(head.vocab_size)));
  }
  return {};
}

StepOutput DeviceSampler::sample(const Batch& batch, const StepInputs& inputs, const HeadSize& head,
                                 const ComputeLogits& compute_logits, StepStatus& status) {
  const auto vocab_size = static_cast<size_t>(head.vocab_size);
  const std::span<float> tops = std::span(block_tops_).first(logit_block_count(vocab_size));
  const auto count = static_cast<int32_t>(batch.samples.size());
  StepOutput output;
  output.samples.reserve(batch.samples.size());
  for (int32_t begin = 0; begin < count; begin += kRowsMax) {
    const int32_t rows = std::min(kRowsMax, count - begin);
    compute_logits(inputs.sampled_tokens() + begin, rows, gathered_.as<float>(), logits_.as<float>());
    const int64_t bytes = int64_t{rows} * head.vocab_size * static_cast<int64_t>(sizeof(float));
    status.add(device_.copy_out(host_logits_.data(), logits_.as<void>(), bytes));
    if (!status.first().ok()) return {};
    for (int32_t i = 0; i < rows; ++i) {
      const std::span<float> logits(&host_logits_[static_cast<size_t>(i) * vocab_size], vocab_size);
      fill_block_tops(logits, tops);
      output.samples.push_back(sample_token({logits, tops}, batch.samples[static_cast<size_t>(begin + i)], scratch_));
    }
  }
  return output;
}

}  // namespace sluice::engine::cuda
