#pragma once

#include <functional>
#include <utility>

#include "base/logger.h"
#include "server/health_monitor.h"

namespace sluice::server {

/// Tells of health when it changes, once each time: the log in words, and whoever serves whether requests are welcome.
/// One thread.
class HealthTeller {
 public:
  /// The logger is lent. Healthy is what has been told so far.
  HealthTeller(std::function<void(bool serving)> set_serving, Logger& logger)
      : set_serving_(std::move(set_serving)), logger_(logger) {}

  void tell(const Health& health);

 private:
  const std::function<void(bool serving)> set_serving_;
  Logger& logger_;
  HealthState told_ = HealthState::kHealthy;
};

}  // namespace sluice::server
