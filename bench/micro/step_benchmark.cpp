#include "bench/micro/step_benchmark.h"

#include <string>

#include <benchmark/benchmark.h>

namespace sluice::bench {

namespace {

void report(benchmark::State& state, const std::string& name, double total) {
  state.counters[name] = benchmark::Counter(total, benchmark::Counter::kAvgIterations);
}

void report_threads(benchmark::State& state, const engine::ThreadCounters& before,
                    const engine::ThreadCounters& after) {
  report(state, "regions", static_cast<double>(after.regions - before.regions));
  report(state, "barriers", static_cast<double>(after.barriers - before.barriers));
  report(state, "sleeps", static_cast<double>(after.sleeps - before.sleeps));
  report(state, "waited_ms", to_milliseconds(after.waited - before.waited));
}

void run_steps(benchmark::State& state, StepRig& rig, const StepShape& shape) {
  rig.step(shape.rows, shape.slice, shape.context);
  rig.trace().take_times();
  const engine::ThreadCounters before = rig.thread_counters();
  for (auto _ : state) rig.step(shape.rows, shape.slice, shape.context);
  const TracedBackend::Times times = rig.trace().take_times();
  for (size_t op = 0; op < times.size(); ++op) {
    report(state, std::string(TracedBackend::kOpNames.at(op)) + "_ms", to_milliseconds(times.at(op)));
  }
  report_threads(state, before, rig.thread_counters());
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
