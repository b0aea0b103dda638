#pragma once

#include <grpcpp/client_context.h>

#include "base/mutex.h"

namespace sluice::client {

/// Lets one thread cancel the call that another thread waits in. Thread-safe; outlives the calls it is given to.
class Cancellation {
 public:
  /// Ends the call in progress, here and on the server, and every later one as soon as it starts. Never blocks.
  void cancel();
  bool cancelled() const;

  /// Ties a call to a cancellation, or to none when it is null. One call at a time.
  class Scope {
   public:
    Scope(Cancellation* cancellation, grpc::ClientContext& context);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Cancellation* const cancellation_;
  };

 private:
  void attach(grpc::ClientContext& context);
  void detach();

  mutable Mutex mutex_;
  bool cancelled_ SLUICE_GUARDED_BY(mutex_) = false;
  grpc::ClientContext* context_ SLUICE_GUARDED_BY(mutex_) = nullptr;
};

}  // namespace sluice::client
