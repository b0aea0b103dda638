#pragma once

#include "bench/run_config.h"

namespace CLI {
class App;
}

namespace sluice::bench {

// The options of commands that send loads, by groups. Each writes what is given into the config, which outlives the
// command line; RunConfig::validate() then says whether it fits together.

/// When requests are sent and until when: --concurrency, --rate, --ramp, --steps, --constant, --burstiness, --requests,
/// --seconds.
void add_load_options(CLI::App& command, RunConfig& config);
/// --warmup, --in-flight-max, --seed, --slip-limit-ms: what any load has, however it is paced.
void add_common_load_options(CLI::App& command, RunConfig& config);
/// What requests ask for: --prompt-tokens, --output-tokens, --shared-prefix-tokens, --dataset, --turns, ….
void add_request_options(CLI::App& command, RunConfig& config);
/// --slo and --slo-share.
void add_slo_options(CLI::App& command, RunConfig& config);

}  // namespace sluice::bench
