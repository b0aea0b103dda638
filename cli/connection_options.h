#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "client/inference_client.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// Which daemon, and how long to be patient with it.
struct ConnectionOptions {
  std::string address = client::kDefaultAddress;
  std::optional<int64_t> timeout_ms;  ///< deadline of each call
  std::optional<int64_t> wait_ms;     ///< first wait this long for the daemon to be ready
  std::string tenant;
};

void add_connection_options(CLI::App& app, ConnectionOptions& options);

client::CallOptions call_options(const ConnectionOptions& options, client::Cancellation* cancellation = nullptr);

/// Waits for the daemon if --wait-ms was given.
Status await_daemon(client::InferenceClient& client, const ConnectionOptions& options,
                    client::Cancellation* cancellation = nullptr);

}  // namespace sluice::cli
