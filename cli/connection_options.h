#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "client/inference_client.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// Which daemon, and how long to be patient with it.
struct ConnectionOptions {
  std::string address;
  std::optional<int64_t> timeout_ms;  ///< deadline of each call
  std::optional<int64_t> wait_ms;     ///< first wait this long for the daemon to be ready
  std::string tenant;
  std::string api_key;
  bool uses_tls = false;  ///< also when one of the files is named
  client::TlsFiles tls;
};

/// The options of every command that calls a daemon. The address is the control's where the command is about that.
enum class Listener { kInference, kAdmin };
void add_connection_options(CLI::App& app, ConnectionOptions& options, Listener listener = Listener::kInference);

/// The daemon; it is connected to at the first call.
Result<std::unique_ptr<client::InferenceClient>> connect(const ConnectionOptions& options);

client::CallOptions call_options(const ConnectionOptions& options, client::Cancellation* cancellation = nullptr);

/// Waits for the daemon if --wait-ms was given.
Status await_daemon(client::InferenceClient& client, const ConnectionOptions& options,
                    client::Cancellation* cancellation = nullptr);

}  // namespace sluice::cli
