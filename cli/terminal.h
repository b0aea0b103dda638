#pragma once

#include <istream>
#include <ostream>

#include "base/status.h"

namespace sluice::cli {

/// What a command reads from and writes to. Lent.
struct Terminal {
  std::istream& in;
  std::ostream& out;
  std::ostream& err;
};

enum ExitCode : int {
  kFine = 0,
  kFailed = 1,        ///< a runtime failure
  kWrongUsage = 2,    ///< the command line or what it names cannot be right
  kInterrupted = 130  ///< 128 + SIGINT, as shells have it
};

/// One line on stderr; returns the code.
ExitCode report_failure(const Terminal& terminal, const Status& status);
ExitCode report_wrong_usage(const Terminal& terminal, const Status& status);

/// kFine, or kFailed with a line on stderr when the output could not be written (a full disk, say).
ExitCode finish_output(const Terminal& terminal);

}  // namespace sluice::cli
