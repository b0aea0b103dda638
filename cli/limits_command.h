#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/connection_options.h"
#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// The command line of `sluice limits`; what is given is changed.
struct LimitsOptions {
  ConnectionOptions connection;
  bool json = false;
  std::optional<int32_t> max_running;
  std::optional<int32_t> max_running_per_tenant;
  std::optional<int32_t> max_queued_requests;
  std::optional<int64_t> max_queued_tokens;
  std::optional<int32_t> max_queued_per_tenant;
  std::optional<int32_t> tokens_per_step;
  std::optional<double> tpot_target_ms;
  std::optional<std::string> admission;
};

void add_limits_options(CLI::App& app, LimitsOptions& options);

/// Shows the daemon's limits, after changing those that were given.
ExitCode run_limits(const LimitsOptions& options, const Terminal& terminal);

}  // namespace sluice::cli
