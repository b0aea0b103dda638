#pragma once

#include <optional>
#include <variant>

#include "base/ids.h"
#include "base/status.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/submission.h"

namespace sluice::scheduler {

/// Ends a request, or only one of its sequences, in which a stop string was found, with FinishReason::kCancelled.
/// Unknown or finished ones are ignored.
struct Cancel {
  RequestId request;
  std::optional<int32_t> sequence;
};

/// Ends every request with RequestFailed(status); for shutdown when the drain time is over.
struct FailAll {
  Status status;
};

/// Changes the scheduler's limits; a change they allow.
struct SetLimits {
  SchedulerConfig limits;
};

/// Asks what would become of a request; answered by an Explained event under the submission's id.
struct Explain {
  Submission submission;
};

using Command = std::variant<Submission, Cancel, FailAll, SetLimits, Explain>;

}  // namespace sluice::scheduler
