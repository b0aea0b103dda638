#include "tests/server/scripted_executor.h"

#include <utility>

namespace sluice::server {

Status ScriptedExecutor::launch(const engine::Batch& batch) {
  wait_for_permission();
  engine::StepOutput output;
  for (const engine::SampleRow& row : batch.samples) output.samples.push_back(sample(row));
  launched_ = std::move(output);
  return {};
}

Result<engine::StepOutput> ScriptedExecutor::collect() {
  Result<engine::StepOutput> output = *std::exchange(launched_, std::nullopt);
  const MutexLock lock(mutex_);
  if (failure_) return *std::exchange(failure_, std::nullopt);
  return output;
}

engine::SampledToken ScriptedExecutor::sample(const engine::SampleRow& row) const {
  engine::SampledToken drawn;
  drawn.token = row.scored_token >= 0 ? row.scored_token : script_[row.output.size() % script_.size()];
  for (const engine::LogitBias& bias : row.params->logit_bias) {
    if (row.scored_token < 0 && bias.bias >= 50) drawn.token = bias.token;
  }
  if (row.params->top_logprobs >= 0) drawn.logprob = -0.5F;
  for (int32_t i = 0; i < row.params->top_logprobs; ++i) drawn.top.push_back({i, -1.0F - static_cast<float>(i)});
  return drawn;
}

void ScriptedExecutor::wait_for_permission() {
  const MutexLock lock(mutex_);
  while (held_ && permits_ == 0) changed_.wait(mutex_);
  if (held_) --permits_;
}

void ScriptedExecutor::hold() {
  const MutexLock lock(mutex_);
  held_ = true;
}

void ScriptedExecutor::let(int32_t steps) {
  const MutexLock lock(mutex_);
  permits_ += steps;
  changed_.notify_all();
}

void ScriptedExecutor::release() {
  const MutexLock lock(mutex_);
  held_ = false;
  changed_.notify_all();
}

void ScriptedExecutor::fail_next_step(Status status) {
  const MutexLock lock(mutex_);
  failure_ = std::move(status);
}

}  // namespace sluice::server
