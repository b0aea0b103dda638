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

}  // namespace sluice::server
