#include "engine/cuda/device_attention.h"

#include <string>
#include <utility>

#include "engine/cuda/cuda_support.h"
#include "engine/cuda/kernels/rope_angles.cuh"
#include "engine/cuda/paged_attention.h"

namespace sluice::engine::cuda {
namespace {

Result<std::unique_ptr<PagedAttention>> make_paged_attention(Device& device, Element element, KvType type) {
  if (element == Element::kF32 && type == KvType::kF32) return make_float_attention(device);
  if (element == Element::kBf16 && type == KvType::kBf16) return make_bf16_attention(device);
  if (element == Element::kBf16 && type == KvType::kF16) return make_half_attention(device);
  if (element == Element::kBf16 && type == KvType::kFp8) return make_fp8_attention(device);
  return no_such_cache(type);
}

}  // namespace

RopeId DeviceAttention::add_rope(const RopeParams& params) {
  ropes_.push_back({params, {}, {}});
  return RopeId{static_cast<int32_t>(ropes_.size()) - 1};
}

int64_t DeviceAttention::angle_bytes(int32_t tokens_max) const {
  constexpr int64_t kRoundingMax = 2 * 512;  // of two allocations
  int64_t bytes = 0;
  for (const Rope& rope : ropes_) {
    const auto pairs = static_cast<int64_t>(rope.params.frequencies.size());
    bytes += pairs * static_cast<int64_t>(sizeof(double) + 2 * sizeof(float) * static_cast<size_t>(tokens_max));
    bytes += kRoundingMax;
  }
  return bytes;
}

Status DeviceAttention::add_cache(const KvLayout& layout, int32_t block_count, int32_t tokens_max) {
  for (Rope& rope : ropes_) {
    const std::vector<double>& frequencies = rope.params.frequencies;
    const auto bytes = static_cast<int64_t>(frequencies.size() * sizeof(double));
    if (bytes == 0) continue;
    SLUICE_ASSIGN_OR_RETURN(rope.frequencies, DeviceBuffer::allocate(device_, bytes, "rotary angles"));
    SLUICE_RETURN_IF_ERROR(device_.copy_in(rope.frequencies.as<void>(), frequencies.data(), bytes));
    const int64_t angle_bytes = int64_t{tokens_max} * rope.params.dim() * static_cast<int64_t>(sizeof(float));
    SLUICE_ASSIGN_OR_RETURN(rope.angles, DeviceBuffer::allocate(device_, angle_bytes, "rotary angles"));
  }
  SLUICE_ASSIGN_OR_RETURN(paged_, make_paged_attention(device_, element_, layout.type));
  return paged_->allocate(layout, block_count);
}

void DeviceAttention::begin_step(const StepShape& shape, const StepInputs& inputs, StepStatus& status) {
  for (const Rope& rope : ropes_) {
    if (rope.params.frequencies.empty()) continue;
    status.add_launch(launch_rope_angles({.positions = inputs.positions(),
                                          .frequencies = rope.frequencies.as<const double>(),
                                          .angles = rope.angles.as<float>(),
                                          .tokens = shape.tokens,
                                          .pairs = static_cast<int32_t>(rope.params.frequencies.size()),
                                          .magnitude = rope.params.magnitude},
                                         device_.stream()),
                      "rope_angles");
  }
}

void DeviceAttention::attend(AttentionCall call, const StepShape& shape, const StepInputs& inputs, StepStatus& status) {
  const Rope& rope = ropes_.at(static_cast<size_t>(call.params.rope.index));
  call.angles = rope.angles.as<const float>();
  call.rope_dim = rope.params.dim();
  call.is_pairwise = rope.params.is_pairwise;
  paged_->attend(call, shape, inputs, status);
}

}  // namespace sluice::engine::cuda
