#include "cli/connection_options.h"

#include "cli/number_option.h"

namespace sluice::cli {

namespace {

void add_identity_options(CLI::App& app, ConnectionOptions& options) {
  app.add_option("--api-key", options.api_key, "The key to call with; better given in the environment")
      ->type_name("KEY")
      ->envname("SLUICE_API_KEY");
  app.add_flag("--tls", options.uses_tls, "Speak TLS, and trust whom this machine trusts");
  app.add_option("--tls-ca", options.tls.ca, "The same, but trust the roots in this PEM file")
      ->type_name("FILE")
      ->envname("SLUICE_TLS_CA");
  app.add_option("--tls-cert", options.tls.cert, "The same, with a certificate of one's own")->type_name("FILE");
  app.add_option("--tls-key", options.tls.key, "The private key of that")->type_name("FILE");
}

}  // namespace

void add_connection_options(CLI::App& app, ConnectionOptions& options, Listener listener) {
  const bool is_admin = listener == Listener::kAdmin;
  options.address = is_admin ? client::kDefaultAdminAddress : client::kDefaultAddress;
  app.add_option("--address", options.address, is_admin ? "The daemon's admin address" : "The daemon's gRPC address")
      ->type_name("H:P")
      ->envname(is_admin ? "SLUICE_ADMIN_ADDRESS" : "SLUICE_ADDRESS")
      ->capture_default_str();
  add_identity_options(app, options);
  add_number(app, "--timeout-ms", options.timeout_ms, "Give up after this long (default: never)")
      ->check(CLI::PositiveNumber);
  add_number(app, "--wait-ms", options.wait_ms, "Wait up to this long for the daemon to be ready")
      ->check(CLI::PositiveNumber);
}

Result<std::unique_ptr<client::InferenceClient>> connect(const ConnectionOptions& options) {
  const client::TlsFiles& tls = options.tls;
  const bool uses_tls = options.uses_tls || !tls.ca.empty() || !tls.cert.empty() || !tls.key.empty();
  SLUICE_ASSIGN_OR_RETURN(const client::Identity identity,
                          client::make_identity(options.api_key, uses_tls ? std::optional(tls) : std::nullopt));
  return std::make_unique<client::InferenceClient>(options.address, identity);
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
