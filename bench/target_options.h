#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "bench/target.h"
#include "client/cancellation.h"

namespace CLI {
class App;
}

namespace sluice::bench {

/// Which server, and who calls it.
struct TargetConfig {
  std::string address;      ///< H:P or unix:PATH
  std::string api_key;      ///< empty: none is sent
  std::string tls_ca_path;  ///< not empty: TLS, with servers whose root is in this file
};

/// The options of every command that loads a server.
void add_target_options(CLI::App& command, TargetConfig& config);

/// Connects, and asks what is served. The cancellation is lent, and ends the wait for that.
Result<std::unique_ptr<Target>> open_target(const TargetConfig& config, client::Cancellation& cancellation);

}  // namespace sluice::bench
