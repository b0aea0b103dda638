#pragma once

#include "sluice/v1/inference.pb.h"

namespace sluice::client {

/// Folds a stream's events into the answer that a unary call would have given. Not thread-safe.
class AnswerBuilder {
 public:
  void observe(const v1::CompleteEvent& event);

  /// The answer so far; a choice that has not ended has reason FINISH_REASON_UNSPECIFIED.
  const v1::CompleteResponse& answer() const { return answer_; }

 private:
  void observe_finished(const v1::Finished& finished);
  /// Grows the list up to `index`; null for an index no request can have asked for.
  v1::Choice* choice(int32_t index);

  v1::CompleteResponse answer_;
};

}  // namespace sluice::client
