#pragma once

#include "base/status.h"
#include "sluice/v1/inference.pb.h"

namespace sluice::client {

/// How a stream of events ended: its error event, its last `finished` event, or neither. Not thread-safe.
class StreamEnd {
 public:
  void observe(const v1::CompleteEvent& event);

  /// `call` is how the gRPC call ended. OK only if the answer is whole: the last event carried the usage. An error
  /// event wins over an OK call; a stream that just stops is kInternal.
  Status status(const Status& call) const;

 private:
  bool is_whole_ = false;
  Status error_;
};

}  // namespace sluice::client
