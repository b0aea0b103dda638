#pragma once

#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/terminal.h"

namespace sluice::cli {

/// The whole program: `arguments` without the program's name, to an exit code.
int run(const std::vector<std::string>& arguments, const Terminal& terminal, const Clock& clock);

}  // namespace sluice::cli
