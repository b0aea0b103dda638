#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/run_command.h"
#include "bench/subcommand.h"
#include "simulation/replay.h"

namespace sluice::bench {

/// The command line of `sluice-bench replay`. Each list is tried in turn, all combinations of them.
struct ReplayOptions {
  std::string trace_path;
  bool simulate = false;
  std::string target;  ///< empty: none
  RunOptions live;     ///< against a target: how it is loaded
  std::vector<int32_t> max_running = {64};
  std::vector<int32_t> tokens_per_step = {512};
  std::vector<double> tpot_target_ms = {0};
  std::vector<std::string> admission = {"adaptive"};
  std::vector<int32_t> blocks = {4096};
  int32_t block_size = 16;
  int32_t max_queued_requests = 256;
};

/// One configuration per row. Errors name the option.
Result<std::vector<simulation::ReplayConfig>> configurations(const ReplayOptions& options);

Subcommand add_replay_command(CLI::App& program, const Output& output, const Environment& environment);

/// Replays the trace under each configuration, in simulated time, and prints a table of what would have happened.
Status run_replay(const ReplayOptions& options, std::ostream& out);

}  // namespace sluice::bench
