#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/terminal.h"

namespace sluice::cli {

/// The whole program: `arguments` without the program's name, to an exit code. `now` is the calendar's time at its
/// start.
int run(const std::vector<std::string>& arguments, const Terminal& terminal, const Clock& clock,
        std::chrono::system_clock::time_point now);

}  // namespace sluice::cli
