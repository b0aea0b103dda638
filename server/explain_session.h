#pragma once

#include <functional>
#include <utility>
#include <variant>

#include "base/status.h"
#include "scheduler/explanation.h"
#include "server/session.h"

namespace sluice::server {

/// Waits for the loop's answer to an Explain and tells it once.
class ExplainSession final : public Session {
 public:
  using Tell = std::function<void(const Result<scheduler::Explanation>&)>;

  explicit ExplainSession(Tell tell) : tell_(std::move(tell)) {}

  void take(scheduler::TokenEvent event) override {
    if (const auto* explained = std::get_if<scheduler::Explained>(&event.what)) tell(explained->explanation);
  }
  void abandon(const Status& status) override { tell(status); }
  bool done() const override { return is_done_; }

 private:
  void tell(const Result<scheduler::Explanation>& answer) {
    is_done_ = true;
    tell_(answer);
  }

  Tell tell_;
  bool is_done_ = false;
};

}  // namespace sluice::server
