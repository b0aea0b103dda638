#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "bench/micro/traced_backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/executor.h"

namespace sluice::bench {

struct StepRigOptions {
  std::string model_path;
  std::string isa = "auto";
  int32_t threads = 0;
  std::string kv_type = "f16";
};

/// A model on the CPU backend, with a cache in which any number of sequences pretend to have lived for a while: steps
/// of every shape can be run without the ones before. What is in the cache is noise; the time doesn't depend on it.
class StepRig {
 public:
  static constexpr int32_t kBlockSize = 16;
  static constexpr int32_t kTokensMax = 1024;  ///< of one step
  static constexpr int32_t kSlots = 65536;     ///< of the cache

  static Result<std::unique_ptr<StepRig>> create(const StepRigOptions& options, const Clock& clock);

  /// One step of `rows` rows with `slice` tokens each, at the end of contexts of `context` tokens; each row draws one
  /// token. slice <= context, rows * slice <= kTokensMax, rows * context <= kSlots in whole blocks.
  void step(int32_t rows, int32_t slice, int32_t context);

  engine::SamplingParams& sampling() { return sampling_; }
  TracedBackend& trace() { return *trace_; }
  engine::ThreadCounters thread_counters() const { return counted_->thread_counters(); }

 private:
  StepRig() = default;
  void add_row(int32_t row, int32_t slice, int32_t context);

  TracedBackend* trace_ = nullptr;                   // in executor_
  const engine::CountedBackend* counted_ = nullptr;  // in *trace_
  std::unique_ptr<engine::Executor> executor_;
  engine::SamplingParams sampling_;
  engine::Batch batch_;
  int32_t vocab_size_ = 0;
};

}  // namespace sluice::bench
