#include "bench/load_runner.h"

#include <memory>
#include <optional>
#include <utility>

#include "bench/pacer.h"
#include "bench/prompt_source.h"

namespace sluice::bench {
namespace {

/// Refuses what the server would refuse or cut short request by request.
Status check_fits(const RunConfig& load, const ServedModel& model) {
  const int64_t longest = int64_t{load.shared_prefix_tokens} + load.prompt_tokens.max + load.output_tokens;
  if (!model.context_length || longest <= *model.context_length) return {};
  return failed_precondition("prompt and output are up to " + std::to_string(longest) + " tokens, but " + model.name +
                             " is served with a context of " + std::to_string(*model.context_length));
}

Result<PromptSource> prompts_for(const RunConfig& load, const ServedModel& model) {
  SLUICE_RETURN_IF_ERROR(check_fits(load, model));
  SLUICE_ASSIGN_OR_RETURN(PromptSource prompts,
                          PromptSource::create(model.vocab_size, model.special_ids, load.prompt_tokens, load.seed));
  prompts.share_prefix(load.shared_prefix_tokens);
  return prompts;
}

Ask make_ask(const RunConfig& load, const PromptSource& prompts, uint64_t index) {
  return {.prompt = prompts.prompt(index),
          .output_tokens = load.output_tokens,
          .stop_token_ids = load.stop_token_ids,
          .temperature = load.temperature,
          .tenant = load.tenant};
}

std::unique_ptr<Pacer> make_pacer(const RunConfig& load, TimePoint start) {
  if (load.concurrency) return std::make_unique<ClosedLoop>(*load.concurrency);
  return std::make_unique<PoissonArrivals>(*load.rate, load.seed, start, load.in_flight_max);
}

std::optional<TimePoint> end_of_sending(const RunConfig& load, TimePoint start) {
  if (!load.seconds) return std::nullopt;
  return start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*load.seconds));
}

double share_done(const RunConfig& load, int64_t requests_done, Duration elapsed) {
  if (load.requests) return static_cast<double>(requests_done) / static_cast<double>(*load.requests);
  return to_seconds(elapsed) / *load.seconds;
}

void warm_up(const RunConfig& load, const PromptSource& prompts, Target& target, LoadGenerator& generator) {
  ClosedLoop pacer(load.concurrency.value_or(1));
  Phase phase{.make_ask = [&](uint64_t index) { return make_ask(load, prompts, index); },
              .pacer = pacer,
              .requests = load.warmup,
              .end = {},
              .on_outcome = [](const RequestOutcome&) {},
              .on_tick = [] { return true; }};
  generator.run(target, phase);
}

}  // namespace

Result<Report> LoadRunner::measure(const RunConfig& load, Target& target, const RunHooks& hooks) {
  SLUICE_ASSIGN_OR_RETURN(const PromptSource prompts, prompts_for(load, target.model()));
  warm_up(load, prompts, target, generator_);
  Measurements measurements(load.stop_token_ids.empty() ? std::optional(load.output_tokens) : std::nullopt);
  const TimePoint start = clock_.now();
  bool was_ended_early = false;
  const auto on_outcome = [&](const RequestOutcome& outcome) {
    const bool was_cancelled = outcome.failure && outcome.failure->status.code() == StatusCode::kCancelled;
    if (was_cancelled && (was_ended_early || generator_.stopped())) return measurements.add_interrupted();
    measurements.add(outcome);
    if (hooks.on_outcome) hooks.on_outcome(outcome);
  };
  const auto on_tick = [&] {
    const Progress progress{.share = share_done(load, measurements.count(), clock_.now() - start),
                            .requests = measurements.count()};
    was_ended_early = was_ended_early || (hooks.on_tick && !hooks.on_tick(progress));
    return !was_ended_early;
  };
  const std::unique_ptr<Pacer> pacer = make_pacer(load, start);
  Phase phase{.make_ask = [&](uint64_t index) { return make_ask(load, prompts, index); },
              .pacer = *pacer,
              .requests = load.requests,
              .end = end_of_sending(load, start),
              .on_outcome = on_outcome,
              .on_tick = on_tick};
  generator_.run(target, phase);
  return measurements.report(clock_.now() - start);
}

}  // namespace sluice::bench
