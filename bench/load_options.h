#pragma once

#include <string>

#include "bench/run_config.h"

namespace CLI {
class App;
}

namespace sluice::bench {

/// When requests are sent and until when: --concurrency, --rate, --requests, --seconds, --warmup, --seed, ….
void add_load_options(CLI::App& command, RunConfig& config);

/// What each of them asks for: --prompt-tokens, --output-tokens, ….
void add_request_options(CLI::App& command, RunConfig& config);

/// "N" or "N..M".
Result<TokenRange> parse_token_range(const std::string& text);

}  // namespace sluice::bench
