#pragma once

#include <string>

#include "base/status.h"
#include "server/config.h"
#include "server/model_host.h"

namespace sluice::server {

/// Reads all of the configured model and looks at it: configuration, tokenizer, chat template, every value of every
/// tensor, and a step of a few tokens whose scores must be finite. The lines of a summary for people; errors are one
/// line that names what is wrong.
Result<std::string> check_model(const Config& config, const LoadEnvironment& environment);

/// What `sluiced --verify-model` does: the summary goes to stdout and an error to stderr. Returns the exit code, 0
/// or 1.
int run_model_check(const Config& config);

}  // namespace sluice::server
