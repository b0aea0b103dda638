#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

#include "base/clock.h"
#include "bench/program.h"

int main(int argc, char** argv) {
  const sluice::SteadyClock clock;
  const sluice::bench::Output output{.out = std::cout, .err = std::cerr, .err_is_terminal = isatty(STDERR_FILENO) != 0};
  std::random_device device;
  return sluice::bench::run_program(std::vector<std::string>(argv + 1, argv + argc), output, {clock, device()});
}
