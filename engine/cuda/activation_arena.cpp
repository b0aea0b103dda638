#include "engine/cuda/activation_arena.h"

#include <algorithm>

namespace sluice::engine::cuda {

ActivationArena::ActivationArena() {
  for (ArenaPlan::Buffer& buffer : scratch_) buffer = plan_.add(0);
}

ActivationId ActivationArena::add(int32_t tokens_max, int32_t width) {
  SLUICE_CHECK(tokens_max_ == 0 || tokens_max == tokens_max_);
  tokens_max_ = tokens_max;
  const int64_t bytes = int64_t{tokens_max} * width * static_cast<int64_t>(sizeof(float));
  activations_.push_back({width, plan_.add(bytes)});
  return ActivationId{static_cast<int32_t>(activations_.size()) - 1};
}

void ActivationArena::plan(const OperationMemory& memory) {
  for (const ActivationId id : memory.uses) plan_.use(activation(id).buffer);
  for (const ActivationId id : memory.writes) plan_.write(activation(id).buffer);
  for (const auto& [kind, bytes] : memory.scratch) {
    const ArenaPlan::Buffer buffer = scratch_[static_cast<size_t>(kind)];
    plan_.grow(buffer, bytes);
    plan_.write(buffer);
  }
  plan_.advance();
}

Status ActivationArena::allocate(Device& device) {
  plan_.place();
  SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device, plan_.bytes(), "activations"));
  return {};
}

}  // namespace sluice::engine::cuda
