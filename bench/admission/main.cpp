#include <chrono>
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/admission/saturation.h"
#include "bench/admission/tick_cost.h"

namespace {

using namespace sluice;

void print(const std::string& policy, const bench::SaturationFigures& figures) {
  std::printf("  %-10s %8.2f %7.1f %9.1f %9.1f %8.2f %% %8lld %9lld\n", policy.c_str(), figures.tokens_per_ms,
              figures.rows, figures.tpot_p99_ms, figures.gap_p99_ms, 100 * figures.paused_share,
              static_cast<long long>(figures.finished), static_cast<long long>(figures.computed_twice));
  std::fflush(stdout);
}

void run(const bench::LoadMix& mix, bench::SaturationConfig config, uint64_t seed_count) {
  std::printf("%s\n", mix.name.c_str());
  const uint64_t first = config.seed;
  for (const std::string policy : {"reserve", "plan", "adaptive", "evicting"}) {
    std::vector<bench::SaturationFigures> runs;
    for (config.seed = first; config.seed < first + seed_count; ++config.seed) {
      runs.push_back(policy == "evicting" ? bench::saturate_with_eviction(mix, config)
                                          : bench::saturate(mix, config, policy));
    }
    print(policy, bench::mean_of(runs));
  }
}

void run_cost() {
  const SteadyClock clock;
  std::printf("plan + build + commit, us    median       p90       p99\n");
  for (const char* policy : {"reserve", "plan", "adaptive"}) {
    for (const int32_t waiting : {0, 64}) {
      const bench::TickCost cost = bench::measure_ticks({.policy = policy, .waiting = waiting}, clock);
      std::printf("  %-10s 256 run, %2d wait %8.1f %9.1f %9.1f\n", policy, waiting, cost.median_us, cost.p90_us,
                  cost.p99_us);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  bench::SaturationConfig config;
  uint64_t seed_count = 4;
  std::string only_mix;
  std::string only_machine;
  CLI::App app("Admission policies of the shipped scheduler when somebody always waits, in a simulation.");
  app.add_option("--seed", config.seed, "the first one of the loads");
  app.add_option("--seeds", seed_count, "runs of each, whose means are printed");
  app.add_option("--steps", config.steps, "to simulate");
  app.add_option("--blocks", config.block_count, "of the cache");
  app.add_option("--mix", only_mix, "mixes whose names contain this");
  app.add_option("--machine", only_machine, "gpu or cpu; without it both");
  double host_ms = 0;
  bool runs_ahead = false;
  app.add_option("--host-ms", host_ms, "to plan, launch and commit a step; only the shipped policies take it");
  app.add_flag("--ahead", runs_ahead, "plan and launch a step while the one before it is computed");
  bool is_cost = false;
  app.add_flag("--cost", is_cost, "measure what a tick of the scheduler itself costs instead");
  CLI11_PARSE(app, argc, argv);
  config.host_time = std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(host_ms));
  config.steps_ahead = runs_ahead ? 1 : 0;
  if (is_cost) {
    run_cost();
    return 0;
  }
  for (const bench::MachineKind& machine : bench::machine_kinds()) {
    if (!only_machine.empty() && machine.name != only_machine) continue;
    config.prices = machine.prices;
    std::printf("%-12s tokens/ms    rows  TPOT p99   gap p99     paused finished      twice\n", machine.name.c_str());
    for (const bench::LoadMix& mix : bench::load_mixes()) {
      if (mix.name.find(only_mix) != std::string::npos) run(mix, config, seed_count);
    }
  }
  return 0;
}
