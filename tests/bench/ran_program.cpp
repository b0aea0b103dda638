#include "tests/bench/ran_program.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <unistd.h>

#include "base/clock.h"
#include "bench/program.h"

namespace sluice::bench {
namespace {

std::string take_file(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  std::filesystem::remove(path);
  return text.str();
}

}  // namespace

Ran run_program_here(std::vector<std::string> arguments) {
  const std::filesystem::path base =
      std::filesystem::temp_directory_path() / ("sluice_bench_" + std::to_string(getpid()));
  const std::string json_path = base.string() + ".json";
  const std::string csv_path = base.string() + ".csv";
  arguments.insert(arguments.end(), {"--json", json_path, "--csv", csv_path});
  std::ostringstream out;
  std::ostringstream err;
  const SteadyClock clock;
  Ran ran;
  ran.exit_code = run_program(arguments, {.out = out, .err = err}, {.clock = clock});
  ran.out = out.str();
  ran.err = err.str();
  ran.report = nlohmann::json::parse(take_file(json_path), nullptr, /*allow_exceptions=*/false);
  ran.csv = take_file(csv_path);
  return ran;
}

Ran run_bench(const std::string& address, std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), {"run", "--address", address});
  return run_program_here(std::move(arguments));
}

}  // namespace sluice::bench
