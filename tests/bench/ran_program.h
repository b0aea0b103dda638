#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace sluice::bench {

struct Ran {
  int exit_code = -1;
  std::string out;
  std::string err;
  nlohmann::json report;  ///< what --json wrote
  std::string csv;        ///< what --csv wrote
};

/// Runs the whole program in this process, with --json and --csv into files of its own.
Ran run_program_here(std::vector<std::string> arguments);

/// `run` against a server.
Ran run_bench(const std::string& address, std::vector<std::string> arguments);

}  // namespace sluice::bench
