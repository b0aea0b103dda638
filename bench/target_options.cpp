#include "bench/target_options.h"

#include <CLI/CLI.hpp>

#include "bench/grpc_target.h"
#include "bench/openai_target.h"
#include "bench/server_url.h"
#include "client/inference_client.h"

namespace sluice::bench {
namespace {

Result<std::unique_ptr<Target>> open_grpc(const TargetConfig& config, const ServerUrl& url,
                                          client::Cancellation& cancellation) {
  if (!config.model.empty() || config.vocab_size > 0 || config.endpoint != "completions") {
    return invalid_argument("--model, --endpoint and --vocab-size are for http:// targets");
  }
  SLUICE_ASSIGN_OR_RETURN(const client::Identity identity, identity_of(config));
  return GrpcTarget::open(url.address, identity, cancellation);
}

}  // namespace

Result<client::Identity> identity_of(const TargetConfig& config) {
  if (config.tls_ca_path.empty()) return client::make_identity(config.api_key, std::nullopt);
  return client::make_identity(config.api_key, client::TlsFiles{.ca = config.tls_ca_path, .cert = {}, .key = {}});
}

void add_target_options(CLI::App& command, TargetConfig& config) {
  config.address = client::kDefaultAddress;
  command
      .add_option("--address,--target", config.address,
                  "The server: a Sluice daemon's gRPC address H:P, or any OpenAI-compatible http://H:P[/v1]")
      ->type_name("H:P|URL")
      ->envname("SLUICE_ADDRESS")
      ->capture_default_str();
  add_caller_options(command, config);
}

void add_caller_options(CLI::App& command, TargetConfig& config) {
  command.add_option("--api-key", config.api_key, "The key to call with; better given in the environment")
      ->type_name("KEY")
      ->envname("SLUICE_API_KEY");
  command.add_option("--tls-ca", config.tls_ca_path, "Speak TLS, and trust the roots in this PEM file")
      ->type_name("FILE")
      ->envname("SLUICE_TLS_CA");
  command.add_option("--model", config.model, "HTTP: the model to ask for [the first that the server names]")
      ->type_name("NAME");
  command.add_option("--endpoint", config.endpoint, "HTTP: completions or chat")
      ->check(CLI::IsMember({"completions", "chat"}))
      ->capture_default_str();
  command
      .add_option("--vocab-size", config.vocab_size,
                  "HTTP: send synthetic prompts as ids below this, to servers that take those; else they are words")
      ->check(CLI::Range(1, 1 << 24));
}

Result<std::unique_ptr<Target>> open_target(const TargetConfig& config, client::Cancellation& cancellation) {
  SLUICE_ASSIGN_OR_RETURN(ServerUrl url, parse_server_url(config.address));
  if (url.scheme == ServerUrl::Scheme::kGrpc) return open_grpc(config, url, cancellation);
  const Endpoint endpoint = config.endpoint == "chat" ? Endpoint::kChat : Endpoint::kCompletions;
  if (endpoint == Endpoint::kChat && config.vocab_size > 0)
    return invalid_argument("--vocab-size: a chat takes no token ids; leave it out or use --endpoint completions");
  return OpenAiTarget::open({.url = std::move(url),
                             .endpoint = endpoint,
                             .model = config.model,
                             .api_key = config.api_key,
                             .tls_ca_path = config.tls_ca_path,
                             .vocab_size = config.vocab_size},
                            cancellation);
}

}  // namespace sluice::bench
