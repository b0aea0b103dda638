#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "scheduler/step_prices.h"
#include "simulation/replay.h"

namespace sluice::bench {

/// A load that never ends: always somebody waits. What the arrival with some index is like follows from the index and
/// the seed alone.
struct LoadMix {
  std::string name;
  std::function<simulation::TracedArrival(uint64_t seed, uint64_t index)> arrival;
  bool shares_prefixes = false;
  bool is_steady = true;  ///< answers do not change their length on the way
};

/// Those of design.md, section 6, then two tenants and shared prefixes.
std::vector<LoadMix> load_mixes();

/// What a step costs on a machine of some kind.
struct MachineKind {
  std::string name;
  scheduler::StepPrices prices;
};

/// "gpu" and "cpu".
std::vector<MachineKind> machine_kinds();

}  // namespace sluice::bench
