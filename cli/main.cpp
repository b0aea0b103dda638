#include <chrono>
#include <iostream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "cli/run.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const sluice::SteadyClock clock;
  const sluice::cli::Terminal terminal{.in = std::cin, .out = std::cout, .err = std::cerr};
  return sluice::cli::run(std::vector<std::string>(argv + 1, argv + argc), terminal, clock,
                          std::chrono::system_clock::now());
}
