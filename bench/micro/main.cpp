#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

#include <CLI/CLI.hpp>
#include <benchmark/benchmark.h>

#include "bench/micro/operation_benchmark.h"
#include "bench/micro/step_benchmark.h"
#include "engine/cpu/available_threads.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/machine_limits.h"

namespace {

/// Over as much memory as the weights of the default model, which some machines can keep in their last cache.
sluice::Result<sluice::engine::MachineLimits> measure_limits(sluice::engine::CpuIsa isa, int32_t threads,
                                                             const sluice::Clock& clock) {
  constexpr size_t kReadBytes = size_t{96} << 20;
  SLUICE_ASSIGN_OR_RETURN(auto memory, sluice::engine::HugeBuffer::allocate(kReadBytes, "measurement"));
  std::memset(memory.as<std::byte>(), 1, kReadBytes);  // pages come into being when they are first written
  sluice::engine::ThreadPool pool(threads);
  const std::span<const std::byte> bytes(memory.as<std::byte>(), kReadBytes);
  return sluice::engine::cpu::measure_limits(pool, isa, {{bytes}}, clock);
}

int fail(const sluice::Status& status) {
  std::fprintf(stderr, "sluice-micro: %s\n", status.message().c_str());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace sluice;
  benchmark::Initialize(&argc, argv);  // takes the --benchmark_... options out
  const char* home = std::getenv("HOME");
  bench::StepRigOptions options;
  options.model_path =
      std::string(home == nullptr ? "" : home) + "/.cache/sluice/models/SmolLM2-135M-Instruct.Q4_1.gguf";
  CLI::App app("Micro benchmarks of the CPU engine; --benchmark_filter, --benchmark_format and the like work too.");
  app.add_option("--model", options.model_path, "what sluiced takes as --model");
  app.add_option("--cpu-isa", options.isa, "instruction set");
  app.add_option("--threads", options.threads, "compute threads; 0: the cores this process may use");
  app.add_option("--kv-dtype", options.kv_type, "element type of the cache");
  CLI11_PARSE(app, argc, argv);
  const auto isa = sluice::engine::choose_cpu_isa(options.isa);
  if (!isa.ok()) return fail(isa.status());
  if (options.threads == 0) options.threads = sluice::engine::available_threads();
  const SteadyClock clock;
  const auto limits = measure_limits(*isa, options.threads, clock);
  if (!limits.ok()) return fail(limits.status());
  const bench::OperationSetting setting{
      .isa = options.isa, .threads = options.threads, .kv_type = options.kv_type, .limits = *limits};
  auto rig = bench::StepRig::create(options, clock);
  if (!rig.ok()) return fail(rig.status());
  benchmark::AddCustomContext("backend", (*rig)->trace().description());
  benchmark::AddCustomContext("read_GB_per_s", std::to_string(setting.limits.read_bytes_per_second / 1e9));
  benchmark::AddCustomContext("peak_GMAC_per_s", std::to_string(setting.limits.vector_macs_per_second / 1e9));
  bench::register_step_benchmarks(**rig);
  bench::register_operation_benchmarks(setting);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
