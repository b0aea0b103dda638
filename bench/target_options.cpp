#include "bench/target_options.h"

#include <CLI/CLI.hpp>

#include "bench/grpc_target.h"
#include "client/inference_client.h"

namespace sluice::bench {
namespace {

Result<client::Identity> identity_of(const TargetConfig& config) {
  if (config.tls_ca_path.empty()) return client::make_identity(config.api_key, std::nullopt);
  return client::make_identity(config.api_key, client::TlsFiles{.ca = config.tls_ca_path, .cert = {}, .key = {}});
}

}  // namespace

void add_target_options(CLI::App& command, TargetConfig& config) {
  config.address = client::kDefaultAddress;
  command.add_option("--address,--target", config.address, "The daemon's gRPC address")
      ->type_name("H:P")
      ->envname("SLUICE_ADDRESS")
      ->capture_default_str();
  command.add_option("--api-key", config.api_key, "The key to call with; better given in the environment")
      ->type_name("KEY")
      ->envname("SLUICE_API_KEY");
  command.add_option("--tls-ca", config.tls_ca_path, "Speak TLS, and trust the roots in this PEM file")
      ->type_name("FILE")
      ->envname("SLUICE_TLS_CA");
}

Result<std::unique_ptr<Target>> open_target(const TargetConfig& config, client::Cancellation& cancellation) {
  SLUICE_ASSIGN_OR_RETURN(const client::Identity identity, identity_of(config));
  return GrpcTarget::open(config.address, identity, cancellation);
}

}  // namespace sluice::bench
