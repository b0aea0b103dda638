#pragma once

#include <cstdint>
#include <functional>
#include <ostream>

#include "base/clock.h"
#include "base/status.h"
#include "bench/client_cpu.h"

namespace CLI {
class App;
}

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
  ClientCpu client_cpu = {};
};

enum ExitCode : int { kFine = 0, kFailed = 1, kWrongUsage = 2, kInterrupted = 130 };

/// Wrong usage if the options aren't `valid`, or else what `run` returns; either failure is told on one line of
/// `output.err`.
ExitCode exit_code_of(const Output& output, const Status& valid, const std::function<Result<ExitCode>()>& run);

/// One thing the program does. It owns its options, which the command line is read into before `run` is called.
struct Subcommand {
  const CLI::App* app;  ///< lent; owned by the program's command line
  std::function<ExitCode()> run;
};

}  // namespace sluice::bench
