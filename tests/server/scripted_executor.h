#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/mutex.h"
#include "engine/executor.h"

namespace sluice::server {

/// An engine that says what it is told to: the i-th token of every sequence is script[i % size], unless a logit bias of
/// 50 or more forces another. Log-probabilities are -0.5, with the asked number of alternatives. Steps can be held up.
/// Thread-safe.
class ScriptedExecutor final : public engine::Executor {
 public:
  explicit ScriptedExecutor(std::vector<int32_t> script) : script_(std::move(script)) {}

  Status launch(const engine::Batch& batch) override;
  Result<engine::StepOutput> collect() override;

  /// Steps from now on wait.
  void hold();
  /// Lets so many held steps go, those to come included.
  void let(int32_t steps);
  void release();
  /// The next step fails with this.
  void fail_next_step(Status status);

 private:
  engine::SampledToken sample(const engine::SampleRow& row) const;
  void wait_for_permission();

  const std::vector<int32_t> script_;
  std::optional<Result<engine::StepOutput>> launched_;  // the loop thread's
  Mutex mutex_;
  CondVar changed_;
  bool held_ SLUICE_GUARDED_BY(mutex_) = false;
  int32_t permits_ SLUICE_GUARDED_BY(mutex_) = 0;
  std::optional<Status> failure_ SLUICE_GUARDED_BY(mutex_);
};

}  // namespace sluice::server
