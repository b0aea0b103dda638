#include "cli/connection_options.h"

#include "cli/number_option.h"

namespace sluice::cli {

void add_connection_options(CLI::App& app, ConnectionOptions& options) {
  app.add_option("--address", options.address, "The daemon's gRPC address")
      ->type_name("H:P")
      ->envname("SLUICE_ADDRESS")
      ->capture_default_str();
  add_number(app, "--timeout-ms", options.timeout_ms, "Give up after this long (default: never)")
      ->check(CLI::PositiveNumber);
  add_number(app, "--wait-ms", options.wait_ms, "Wait up to this long for the daemon to be ready")
      ->check(CLI::PositiveNumber);
}

client::CallOptions call_options(const ConnectionOptions& options, client::Cancellation* cancellation) {
  return {.timeout = std::chrono::milliseconds(options.timeout_ms.value_or(0)),
          .cancellation = cancellation,
          .tenant = options.tenant};
}

Status await_daemon(client::InferenceClient& client, const ConnectionOptions& options,
                    client::Cancellation* cancellation) {
  if (!options.wait_ms) return {};
  return client.wait_until_ready(std::chrono::milliseconds(*options.wait_ms), cancellation);
}

}  // namespace sluice::cli
