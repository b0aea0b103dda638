#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "base/clock.h"

namespace sluice::bench {

/// Where the program writes. Lent.
struct Output {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;  ///< draw a progress bar there
};

/// What a program can't make itself.
struct Environment {
  const Clock& clock;       ///< steady
  uint64_t fresh_seed = 0;  ///< of a run without --seed: with the same prompts as the last one it would measure a cache
};

/// The whole program: `arguments` without its name, to an exit code: 0; 1 when every request failed or the daemon
/// cannot be asked; 2 for wrong usage; 130 after SIGINT or SIGTERM, with a report of what there is.
int run_program(const std::vector<std::string>& arguments, const Output& output, const Environment& environment);

}  // namespace sluice::bench
