#pragma once

#include "cli/complete_options.h"
#include "cli/terminal.h"

namespace sluice::cli {

/// Asks what would become of a request: a few lines, or one JSON object with the names of ExplainResponse. Takes the
/// options of `sluice complete`. Exit code 0 also when it would be refused: the question was answered.
ExitCode run_explain(const CompleteOptions& options, const Terminal& terminal);

}  // namespace sluice::cli
