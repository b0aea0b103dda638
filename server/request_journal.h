#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "server/request_record.h"

namespace sluice::server {

/// Tells several observers of each request that ends. Filled before the first; then one thread.
class RequestJournal final : public RequestObserver {
 public:
  void add(std::unique_ptr<RequestObserver> observer) { observers_.push_back(std::move(observer)); }

  void note(const RequestRecord& record) override {
    for (const auto& observer : observers_) observer->note(record);
  }

 private:
  std::vector<std::unique_ptr<RequestObserver>> observers_;
};

}  // namespace sluice::server
