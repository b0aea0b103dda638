#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "bench/target.h"
#include "client/cancellation.h"
#include "client/identity.h"

namespace CLI {
class App;
}

namespace sluice::bench {

/// Which server, how it speaks, and who calls it.
struct TargetConfig {
  std::string address;      ///< as parse_server_url() reads it
  std::string api_key;      ///< empty: none is sent
  std::string tls_ca_path;  ///< not empty: TLS with gRPC, with servers whose root is in this file; also for https
  std::string model;        ///< HTTP: empty is the first that the server names
  std::string endpoint = "completions";  ///< HTTP: or "chat"
  int32_t vocab_size = 0;                ///< HTTP: above 0, prompts are sent as token ids below it
};

/// The options of every command that loads a server.
void add_target_options(CLI::App& command, TargetConfig& config);
/// The same without the address, for commands that take it in their own way.
void add_caller_options(CLI::App& command, TargetConfig& config);

/// Who calls over gRPC. Errors name the file that can't be used.
Result<client::Identity> identity_of(const TargetConfig& config);

/// Connects, and asks what is served. The cancellation is lent, and ends the wait for that.
Result<std::unique_ptr<Target>> open_target(const TargetConfig& config, client::Cancellation& cancellation);

}  // namespace sluice::bench
