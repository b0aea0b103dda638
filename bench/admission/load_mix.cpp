#include "bench/admission/load_mix.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/counter_random.h"

namespace sluice::bench {
namespace {

/// Random numbers of one arrival.
class Draws {
 public:
  Draws(uint64_t seed, uint64_t index) : seed_(random_bits(seed, index)) {}

  double unit() { return random_unit(seed_, next_++); }
  double between(double low, double high) { return low + (high - low) * unit(); }
  /// Log-normal with this mean, sigma 0.8 of the logarithm.
  double length(double mean) {
    const double normal = std::sqrt(-2 * std::log(1 - unit())) * std::cos(2 * std::numbers::pi * unit());
    return std::exp(std::log(mean) - 0.32 + 0.8 * normal);
  }

 private:
  uint64_t seed_;
  uint64_t next_ = 0;
};

simulation::TracedArrival usual(Draws& draws, int32_t prompt, int32_t cap, double mean_output) {
  simulation::TracedArrival arrival;
  arrival.prompt_tokens = static_cast<int32_t>(draws.between(0.5, 1.5) * prompt);
  arrival.max_tokens = cap;
  arrival.output_tokens = std::clamp(static_cast<int32_t>(draws.length(mean_output)), 1, cap);
  return arrival;
}

LoadMix usual_mix(std::string name, int32_t prompt, int32_t cap, double mean_output) {
  return {.name = std::move(name), .arrival = [=](uint64_t seed, uint64_t index) {
            Draws draws(seed, index);
            return usual(draws, prompt, cap, mean_output);
          }};
}

simulation::TracedArrival at_cap(uint64_t seed, uint64_t index) {
  Draws draws(seed, index);
  simulation::TracedArrival arrival;
  arrival.prompt_tokens = static_cast<int32_t>(draws.between(32, 96));
  arrival.max_tokens = arrival.output_tokens = 128;
  return arrival;
}

/// 600 short answers, 300 at their cap, short ones again.
simulation::TracedArrival shifting(uint64_t seed, uint64_t index) {
  Draws draws(seed, index);
  simulation::TracedArrival arrival = usual(draws, 128, 512, 64);
  if (index >= 600 && index < 900) arrival.output_tokens = arrival.max_tokens;
  return arrival;
}

simulation::TracedArrival two_kinds(uint64_t seed, uint64_t index) {
  Draws draws(seed, index);
  const bool is_short = draws.unit() < 0.8;
  return usual(draws, 128, 512, is_short ? 30 : 400);
}

simulation::TracedArrival two_tenants(uint64_t seed, uint64_t index) {
  Draws draws(seed, index);
  const bool is_short = index % 2 == 0;
  simulation::TracedArrival arrival = usual(draws, 128, 512, is_short ? 30 : 300);
  arrival.tenant = is_short ? "brief" : "wordy";
  return arrival;
}

/// Half of each prompt is everybody's.
simulation::TracedArrival shared_prefix(uint64_t seed, uint64_t index) {
  Draws draws(seed, index);
  simulation::TracedArrival arrival = usual(draws, 128, 512, 64);
  arrival.shared_tokens = 128;
  arrival.prompt_tokens += arrival.shared_tokens;
  return arrival;
}

}  // namespace

std::vector<LoadMix> load_mixes() {
  return {usual_mix("far below cap: 128 512 64", 128, 512, 64),
          usual_mix("half of cap: 128 256 128", 128, 256, 128),
          {.name = "at cap: 64 128 128", .arrival = at_cap},
          usual_mix("long prompts: 1000 1000 200", 1000, 1000, 200),
          usual_mix("huge caps: 128 2000 100", 128, 2000, 100),
          {.name = "two kinds: 80% 30, 20% 400, cap 512", .arrival = two_kinds},
          {.name = "shift: short, 300 at cap, short", .arrival = shifting, .is_steady = false},
          {.name = "two tenants: 30 and 300, cap 512", .arrival = two_tenants},
          {.name = "shared prefix: 128 + 128 512 64", .arrival = shared_prefix, .shares_prefixes = true}};
}

std::vector<MachineKind> machine_kinds() {
  return {{"gpu", {.fixed_ms = 4.0, .prefill_token_ms = 0.023, .decode_row_ms = 0.03}},
          {"cpu", {.fixed_ms = 1.9, .prefill_token_ms = 0.22, .decode_row_ms = 0.4}}};
}

}  // namespace sluice::bench
