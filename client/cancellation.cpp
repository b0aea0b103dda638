#include "client/cancellation.h"

#include "base/check.h"

namespace sluice::client {

void Cancellation::cancel() {
  const MutexLock lock(mutex_);
  cancelled_ = true;
  if (context_ != nullptr) context_->TryCancel();
}

bool Cancellation::cancelled() const {
  const MutexLock lock(mutex_);
  return cancelled_;
}

void Cancellation::attach(grpc::ClientContext& context) {
  const MutexLock lock(mutex_);
  SLUICE_CHECK(context_ == nullptr);
  context_ = &context;
  if (cancelled_) context.TryCancel();
}

void Cancellation::detach() {
  const MutexLock lock(mutex_);
  context_ = nullptr;
}

Cancellation::Scope::Scope(Cancellation* cancellation, grpc::ClientContext& context) : cancellation_(cancellation) {
  if (cancellation_ != nullptr) cancellation_->attach(context);
}

Cancellation::Scope::~Scope() {
  if (cancellation_ != nullptr) cancellation_->detach();
}

}  // namespace sluice::client
