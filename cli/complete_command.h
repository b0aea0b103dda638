#pragma once

#include "base/clock.h"
#include "cli/complete_options.h"
#include "cli/terminal.h"

namespace sluice::cli {

/// Streams a completion to stdout and its timing to stderr. SIGINT and SIGTERM cancel it on the server (kInterrupted).
ExitCode run_complete(const CompleteOptions& options, const Terminal& terminal, const Clock& clock);

}  // namespace sluice::cli
