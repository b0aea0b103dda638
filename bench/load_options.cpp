#include "bench/load_options.h"

#include "bench/parse_time.h"
#include "bench/parsed_option.h"

namespace sluice::bench {
namespace {

Result<double> parse_seconds(const std::string& text) {
  if (text == "0") return 0.0;
  SLUICE_ASSIGN_OR_RETURN(const Duration time, parse_time(text));
  return to_seconds(time);
}

/// What is the same for all ways of asking.
void add_sampling_options(CLI::App& command, RunConfig& config) {
  command
      .add_option("--stop-token-id", config.stop_token_ids,
                  "End an answer at this token already; may be repeated. --output-tokens is then the cap")
      ->type_name("ID")
      ->allow_extra_args(false);
  command.add_flag("!--obey-end-tokens", config.ignores_end_tokens,
                   "Let answers end where the model ends them; --output-tokens is then the cap");
  command.add_option("--tenant", config.tenant, "For whom all requests are")->type_name("NAME");
  command.add_option("--temperature", config.temperature, "0 takes the likeliest token")->capture_default_str();
}

}  // namespace

void add_load_options(CLI::App& command, RunConfig& config) {
  command.add_option("--concurrency", config.concurrency, "Closed loop: keep this many requests in flight");
  command.add_option("--rate", config.rate, "Open loop: requests per second on average, at random (Poisson) moments");
  add_parsed(command, "--ramp", config.ramp, parse_ramp, "Open loop: from one rate to the other within --seconds")
      ->type_name("A..B");
  add_parsed(command, "--steps", config.steps, parse_steps, "Open loop: rates, each for a time, as in 2:30s,8:30s")
      ->type_name("RATE:TIME,…");
  command.add_flag("--constant", config.has_constant_gaps, "Open loop: evenly spaced arrivals instead of Poisson's");
  command.add_option("--burstiness", config.burstiness,
                     "Open loop: gaps of a gamma distribution with this shape; 1 is Poisson, below is burstier");
  command.add_option("--requests", config.requests, "Send this many requests");
  command.add_option("--seconds", config.seconds,
                     "Send requests for this long; those in flight then still end and count");
  add_common_load_options(command, config);
}

void add_common_load_options(CLI::App& command, RunConfig& config) {
  command.add_option("--warmup", config.warmup, "Requests sent before and not measured")->capture_default_str();
  command
      .add_option("--in-flight-max", config.in_flight_max,
                  "Open loop: requests beyond wait here, and their wait counts")
      ->capture_default_str();
  command.add_option(
      "--seed", config.seed,
      "Of prompts, lengths and arrivals; drawn anew by default, as a daemon has the last run's prompts in "
      "its cache");
  command
      .add_option(
          "--slip-limit-ms", config.slip_limit_ms,
          "If 1 % of the requests are sent later than due by more, the client was the limit and there is no verdict")
      ->capture_default_str();
}

void add_request_options(CLI::App& command, RunConfig& config) {
  constexpr const char* kLength = "LENGTH";
  add_parsed(command, "--prompt-tokens", config.prompt_tokens, parse_length,
             "Length of the prompts: N, A..B (uniform), normal:MEAN,SD[,MAX] or lognormal:MEDIAN,SIGMA[,MAX] [128]")
      ->type_name(kLength);
  add_parsed(command, "--output-tokens", config.output_tokens, parse_length,
             "Tokens of each answer, as end tokens are ignored; given as for prompts [64, or the dataset's]")
      ->type_name(kLength);
  command
      .add_option("--shared-prefix-tokens", config.shared_prefix_tokens,
                  "Begin every prompt with the same so many tokens")
      ->capture_default_str();
  command.add_option("--shared-prefix-share", config.shared_prefix_share, "Of the prompts that begin with them")
      ->capture_default_str();
  command
      .add_option("--dataset", config.dataset_path,
                  "Ask what people ask in this file, in ShareGPT's form: JSON lines or one JSON array")
      ->type_name("FILE");
  command.add_option("--turns", config.turns, "Turns of a conversation, each with all before it in its prompt")
      ->capture_default_str();
  add_parsed(command, "--think-time", config.think_seconds, parse_seconds,
             "Between an answer and the next turn, such as 500ms or 2s [0]")
      ->type_name("TIME");
  add_sampling_options(command, config);
}

void add_slo_options(CLI::App& command, RunConfig& config) {
  add_parsed(command, "--slo", config.slo, parse_slo,
             "What a request must keep to count as good: of ttft, tpot, itl (the longest gap) and e2e, as in "
             "ttft=300ms,tpot=50ms")
      ->type_name("NAME=TIME,…");
  command.add_option("--slo-share", config.slo_share, "Of the requests that must keep it for the verdict to be a pass")
      ->capture_default_str();
}

}  // namespace sluice::bench
