#pragma once

#include <optional>
#include <variant>

#include "base/ids.h"
#include "base/status.h"
#include "scheduler/submission.h"

namespace sluice::scheduler {

/// Ends a request, or only one of its sequences, with FinishReason::kCancelled. Unknown or finished ones are ignored.
struct Cancel {
  RequestId request;
  std::optional<int32_t> sequence;
};

/// Ends every request with RequestFailed(status); for shutdown when the drain time is over.
struct FailAll {
  Status status;
};

using Command = std::variant<Submission, Cancel, FailAll>;

}  // namespace sluice::scheduler
