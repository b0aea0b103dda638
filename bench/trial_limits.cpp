#include "bench/trial_limits.h"

#include <sstream>

namespace sluice::bench {
namespace {

constexpr std::chrono::milliseconds kCallTimeout{2000};
constexpr std::chrono::milliseconds kReconnectTimeout{2000};
constexpr int kTries = 4;

v1::Limits message_of(const LimitSetting& setting) {
  v1::Limits limits;
  limits.set_max_running(setting.max_running);
  limits.set_tokens_per_step(setting.tokens_per_step);
  limits.set_tpot_target_ms(setting.tpot_target_ms);
  return limits;
}

LimitSetting setting_of(const v1::Limits& limits) {
  return {.max_running = limits.max_running(),
          .tokens_per_step = limits.tokens_per_step(),
          .tpot_target_ms = limits.tpot_target_ms()};
}

/// Worth another try: the connection, or a daemon that is busy.
bool may_pass(const Status& status) {
  return status.code() == StatusCode::kUnavailable || status.code() == StatusCode::kDeadlineExceeded ||
         status.code() == StatusCode::kResourceExhausted;
}

}  // namespace

Result<TrialLimits> TrialLimits::borrow(client::InferenceClient& admin, const std::string& address) {
  Result<v1::Limits> limits = admin.get_limits({.timeout = kCallTimeout});
  if (!limits.ok()) return limits.status().with_context("the limits at --admin " + address);
  return TrialLimits(admin, address, std::move(*limits));
}

LimitSetting TrialLimits::before_setting() const {
  return setting_of(before_);
}

Status TrialLimits::set(const LimitSetting& setting) {
  is_changed_ = true;
  const Result<v1::Limits> now = admin_->set_limits(message_of(setting), {.timeout = kCallTimeout});
  return now.ok() ? Status() : now.status().with_context("setting " + describe(setting));
}

Status TrialLimits::put_back() {
  if (!is_changed_) return {};
  Status status = try_put_back();
  for (int tries = 1; tries < kTries && may_pass(status); ++tries) {
    // Returns as soon as the daemon answers; what it says doesn't matter, the next try does.
    [[maybe_unused]] const Status ready = admin_->wait_until_ready(kReconnectTimeout);
    status = try_put_back();
  }
  if (status.ok()) {
    is_changed_ = false;
    return {};
  }
  const LimitSetting before = before_setting();
  std::ostringstream command;
  command << "the limits could not be put back; run: sluice limits --address " << address_ << " --max-running "
          << before.max_running << " --tokens-per-step " << before.tokens_per_step << " --tpot-target-ms "
          << before.tpot_target_ms;
  return status.with_context(command.str());
}

Status TrialLimits::try_put_back() {
  const Result<v1::Limits> now = admin_->set_limits(message_of(before_setting()), {.timeout = kCallTimeout});
  return now.status();
}

}  // namespace sluice::bench
