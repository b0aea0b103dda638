#include <cstdio>
#include <cstdlib>
#include <string>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>

#include "bench/micro/step_benchmark.h"

int main(int argc, char** argv) {
  using namespace sluice;
  benchmark::Initialize(&argc, argv);  // takes the --benchmark_... options out
  const char* home = std::getenv("HOME");
  bench::StepRigOptions options;
  options.model_path =
      std::string(home == nullptr ? "" : home) + "/.cache/sluice/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  CLI::App app("Micro benchmarks of the CPU engine; --benchmark_filter, --benchmark_format and the like work too.");
  app.add_option("--model", options.model_path, "GGUF file");
  app.add_option("--cpu-isa", options.isa, "instruction set");
  app.add_option("--threads", options.threads, "compute threads; 0: the cores this process may use");
  app.add_option("--kv-dtype", options.kv_type, "element type of the cache");
  CLI11_PARSE(app, argc, argv);
  const SteadyClock clock;
  auto rig = bench::StepRig::create(options, clock);
  if (!rig.ok()) {
    std::fprintf(stderr, "sluice-micro: %s\n", rig.status().message().c_str());
    return 1;
  }
  benchmark::AddCustomContext("backend", (*rig)->trace().description());
  bench::register_step_benchmarks(**rig);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
