#include <algorithm>
#include <ctime>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/program.h"

namespace {

sluice::Duration process_cpu() {
  timespec used{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

int cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// A connection per request in flight takes more files than the usual soft limit has.
void raise_open_file_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  raise_open_file_limit();
  const sluice::SteadyClock clock;
  const sluice::bench::Output output{.out = std::cout, .err = std::cerr, .err_is_terminal = isatty(STDERR_FILENO) != 0};
  std::random_device device;
  return sluice::bench::run_program(
      std::vector<std::string>(argv + 1, argv + argc), output,
      {.clock = clock, .fresh_seed = device(), .client_cpu = {.used = process_cpu, .cores = cores()}});
}
