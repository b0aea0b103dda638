#pragma once

#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "server/http_url.h"

namespace sluice::server {

/// Sends JSON to a URL over a connection of its own and waits for the answer, at most for `timeout`. OK for a 2xx;
/// UNAVAILABLE says what went wrong else. Blocks the calling
/// thread, and longer than `timeout` only while the system looks up a name: that can't be given up.
Status post_json(const HttpUrl& url, const std::string& body, Duration timeout);

}  // namespace sluice::server
