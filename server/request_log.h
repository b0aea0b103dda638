#pragma once

#include "base/logger.h"
#include "server/request_record.h"

namespace sluice::server {

/// A line of the daemon's log for each request: who asked, how it ended, and where its time went. No text.
class RequestLog final : public RequestObserver {
 public:
  /// The logger is lent.
  explicit RequestLog(Logger& logger) : logger_(logger) {}
  void note(const RequestRecord& record) override;

 private:
  Logger& logger_;
};

}  // namespace sluice::server
