#pragma once

#include <string>
#include <vector>

#include "bench/subcommand.h"

namespace sluice::bench {

/// The whole program: `arguments` without its name, to an exit code: 0; 1 when every request failed or the server
/// cannot be asked; 2 for wrong usage; 130 after SIGINT or SIGTERM, with a report of what there is.
int run_program(const std::vector<std::string>& arguments, const Output& output, const Environment& environment);

}  // namespace sluice::bench
