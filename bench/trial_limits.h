#pragma once

#include <string>

#include "base/status.h"
#include "bench/trial.h"
#include "client/inference_client.h"
#include "sluice/v1/control.pb.h"

namespace sluice::bench {

/// A running daemon's limits, borrowed: they are changed as often as one likes and then put back. One thread.
class TrialLimits {
 public:
  /// Asks what they are. The client is of the daemon's admin address, and lent; the address is for messages.
  static Result<TrialLimits> borrow(client::InferenceClient& admin, const std::string& address);

  const v1::Limits& before() const { return before_; }
  LimitSetting before_setting() const;

  /// Changes them all at once.
  Status set(const LimitSetting& setting);
  /// As they were. When the daemon can't be reached it is tried again for some seconds, and then the error says what to
  /// run by hand. Interrupts don't end this. Nothing is sent when nothing was ever changed.
  Status put_back();
  /// Leaves them as they are now: put_back() does nothing from here on.
  void keep() { is_changed_ = false; }

 private:
  TrialLimits(client::InferenceClient& admin, std::string address, v1::Limits before)
      : admin_(&admin), address_(std::move(address)), before_(std::move(before)) {}

  Status try_put_back();

  client::InferenceClient* admin_;
  std::string address_;
  v1::Limits before_;
  bool is_changed_ = false;
};

}  // namespace sluice::bench
