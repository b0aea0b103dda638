#include "bench/load_options.h"

#include <charconv>
#include <string_view>

#include <CLI/CLI.hpp>

namespace sluice::bench {
namespace {

bool read_number(std::string_view text, int32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

void add_load_options(CLI::App& command, RunConfig& config) {
  command.add_option("--concurrency", config.concurrency, "Closed loop: keep this many requests in flight");
  command.add_option("--rate", config.rate, "Open loop: requests per second on average, at random (Poisson) moments");
  command.add_option("--requests", config.requests, "Send this many requests");
  command.add_option("--seconds", config.seconds,
                     "Send requests for this long; those in flight then still end and count");
  command.add_option("--warmup", config.warmup, "Requests sent before and not measured")->capture_default_str();
  command
      .add_option("--in-flight-max", config.in_flight_max,
                  "Open loop: requests beyond wait here, and their wait counts")
      ->capture_default_str();
  command.add_option(
      "--seed", config.seed,
      "Of prompts and arrivals; drawn anew by default, as a daemon has the last run's prompts in its cache");
}

void add_request_options(CLI::App& command, RunConfig& config) {
  const auto take_range = [&config](const std::string& text) {
    const Result<TokenRange> range = parse_token_range(text);
    if (!range.ok()) throw CLI::ValidationError("--prompt-tokens", range.status().message());
    config.prompt_tokens = *range;
  };
  command
      .add_option_function<std::string>("--prompt-tokens", take_range,
                                        "Length of the prompts; a range is uniform [128]")
      ->type_name("N[..M]");
  command
      .add_option("--shared-prefix-tokens", config.shared_prefix_tokens,
                  "Begin every prompt with the same so many tokens")
      ->capture_default_str();
  command.add_option("--output-tokens", config.output_tokens, "Tokens of each answer; end tokens are ignored")
      ->capture_default_str();
  command
      .add_option("--stop-token-id", config.stop_token_ids,
                  "End an answer at this token already; may be repeated. --output-tokens is then the cap")
      ->type_name("ID")
      ->allow_extra_args(false);
  command.add_option("--tenant", config.tenant, "For whom all requests are")->type_name("NAME");
  command.add_option("--temperature", config.temperature, "0 takes the likeliest token")->capture_default_str();
}

Result<TokenRange> parse_token_range(const std::string& text) {
  const std::string_view view = text;
  const size_t dots = view.find("..");
  TokenRange range;
  const bool has_min = read_number(view.substr(0, dots), range.min);
  range.max = range.min;
  const bool has_max = dots == std::string_view::npos || read_number(view.substr(dots + 2), range.max);
  if (!has_min || !has_max) return invalid_argument("'" + text + "' is not N or N..M");
  return range;
}

}  // namespace sluice::bench
