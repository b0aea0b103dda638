#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "server/http_router.h"
#include "server/live_status.h"

namespace sluice::server {

/// GET / is a page for people, one document without a single asset of others; GET /live?since=N is what it draws
/// (live_status.h). Both take no key, as /metrics doesn't: they tell figures, never what anybody asked or was answered.
/// What the page sends on a person's behalf goes the way of every other request. Both are answered on the listener's
/// I/O thread, also while the model is being loaded. Outlives the server that has its routes.
class LivePage {
 public:
  /// `clock` is lent; the daemon counts as begun now. `readiness` is asked on the I/O thread.
  LivePage(const Clock& clock, std::string version, std::function<Readiness()> readiness);

  /// From now on there is something to see. `front` is lent and outlives this.
  void open(const LiveFront& front) { front_.store(&front); }

  std::vector<HttpRoute> routes() const;

 private:
  HttpResponse answer(const HttpRequest& request) const;

  const Clock& clock_;
  const TimePoint began_;
  const std::string version_;
  const std::function<Readiness()> readiness_;
  std::atomic<const LiveFront*> front_{nullptr};
};

/// The number in a query's `since=N`, 0 without one; INVALID_ARGUMENT names `since` when it is no whole number.
Result<uint64_t> since_in(std::string_view query);

/// The page with its style and script in their places.
std::string whole_page();
/// What a browser lets the page do: run its own script, use its own style, call this daemon, and nothing else.
std::string page_policy();

}  // namespace sluice::server
