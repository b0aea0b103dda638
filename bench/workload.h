#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/dataset.h"
#include "bench/run_config.h"
#include "bench/target.h"

namespace sluice::bench {

/// What an answer said; only the form that its prompts have.
struct AnswerContent {
  std::string text;
  std::vector<int32_t> ids;
};

/// What is asked: conversations by number, each of one turn or more. Pure: the same seed asks the same.
class Workload {
 public:
  virtual ~Workload() = default;
  virtual Ask first(uint64_t conversation) const = 0;
  /// What follows `asked`, the turn before `turn` (1, 2, …), and its answer; nothing when the conversation is over.
  virtual std::optional<Ask> next(uint64_t conversation, int32_t turn, const Ask& asked,
                                  const AnswerContent& answer) const = 0;
};

/// The dataset is null unless the load has one. FAILED_PRECONDITION when the target couldn't serve this: a context too
/// small, no vocabulary to draw from.
Result<std::unique_ptr<Workload>> make_workload(const RunConfig& load, const Target& target,
                                                std::shared_ptr<const std::vector<DatasetConversation>> dataset);

}  // namespace sluice::bench
