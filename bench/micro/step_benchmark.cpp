#include "bench/micro/step_benchmark.h"

#include <string>

#include <benchmark/benchmark.h>

namespace sluice::bench {

namespace {

void run_steps(benchmark::State& state, StepRig& rig, const StepShape& shape) {
  rig.step(shape.rows, shape.slice, shape.context);
  rig.trace().take_times();
  for (auto _ : state) rig.step(shape.rows, shape.slice, shape.context);
  const TracedBackend::Times times = rig.trace().take_times();
  for (size_t op = 0; op < times.size(); ++op) {
    state.counters[std::string(TracedBackend::kOpNames.at(op)) + "_ms"] =
        benchmark::Counter(to_milliseconds(times.at(op)), benchmark::Counter::kAvgIterations);
  }
  state.SetItemsProcessed(state.iterations() * shape.rows * shape.slice);
}

}  // namespace

void register_step_benchmarks(StepRig& rig) {
  const StepShape shapes[] = {{.name = "decode", .rows = 1, .slice = 1, .context = 64},
                              {.name = "decode", .rows = 1, .slice = 1, .context = 4096},
                              {.name = "decode", .rows = 4, .slice = 1, .context = 160},
                              {.name = "decode", .rows = 8, .slice = 1, .context = 160},
                              {.name = "decode", .rows = 16, .slice = 1, .context = 160},
                              {.name = "decode", .rows = 32, .slice = 1, .context = 160},
                              {.name = "decode", .rows = 32, .slice = 1, .context = 512},
                              {.name = "prefill", .rows = 1, .slice = 128, .context = 128},
                              {.name = "prefill", .rows = 1, .slice = 512, .context = 512}};
  for (const StepShape& shape : shapes) {
    const std::string name = std::string("step/") + shape.name + "/rows:" + std::to_string(shape.rows) +
                             "/slice:" + std::to_string(shape.slice) + "/context:" + std::to_string(shape.context);
    benchmark::RegisterBenchmark(name.c_str(), [&rig, shape](benchmark::State& state) { run_steps(state, rig, shape); })
        ->UseRealTime()
        ->Unit(benchmark::kMillisecond);
  }
}

}  // namespace sluice::bench
