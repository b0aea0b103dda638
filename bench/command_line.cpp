#include "bench/command_line.h"

#include <charconv>
#include <string_view>

#include <CLI/CLI.hpp>

#include "client/inference_client.h"

namespace sluice::bench {
namespace {

bool read_number(std::string_view text, int32_t& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

void add_load_options(CLI::App& app, RunConfig& config) {
  app.add_option("--concurrency", config.concurrency, "Closed loop: keep this many requests in flight");
  app.add_option("--rate", config.rate, "Open loop: requests per second on average, at random (Poisson) moments");
  app.add_option("--requests", config.requests, "Send this many requests");
  app.add_option("--seconds", config.seconds, "Send requests for this long; those in flight then still end and count");
  app.add_option("--warmup", config.warmup, "Requests sent before and not measured")->capture_default_str();
  app.add_option("--in-flight-max", config.in_flight_max, "Open loop: requests beyond wait here, and their wait counts")
      ->capture_default_str();
  app.add_option("--seed", config.seed,
                 "Of prompts and arrivals; drawn anew by default, as a daemon has the last run's prompts in its cache");
}

void add_request_options(CLI::App& app, RunConfig& config) {
  const auto take_range = [&config](const std::string& text) {
    const Result<TokenRange> range = parse_token_range(text);
    if (!range.ok()) throw CLI::ValidationError("--prompt-tokens", range.status().message());
    config.prompt_tokens = *range;
  };
  app.add_option_function<std::string>("--prompt-tokens", take_range, "Length of the prompts; a range is uniform [128]")
      ->type_name("N[..M]");
  app.add_option("--shared-prefix-tokens", config.shared_prefix_tokens,
                 "Begin every prompt with the same so many tokens")
      ->capture_default_str();
  app.add_option("--output-tokens", config.output_tokens, "Tokens of each answer; end tokens are ignored")
      ->capture_default_str();
  app.add_option("--stop-token-id", config.stop_token_ids,
                 "End an answer at this token already; may be repeated. --output-tokens is then the cap")
      ->type_name("ID")
      ->allow_extra_args(false);
  app.add_option("--tenant", config.tenant, "For whom all requests are")->type_name("NAME");
  app.add_option("--temperature", config.temperature, "0 takes the likeliest token")->capture_default_str();
}

CLI::App* add_replay(CLI::App& app, ReplayOptions& options) {
  CLI::App* const replay = app.add_subcommand(
      "replay", "What would other limits have done? Runs a daemon's trace (log.trace_path) through the scheduler");
  replay->add_option("trace", options.trace_path, "The trace")->type_name("FILE")->required();
  replay->add_flag("--simulate", options.simulate, "In simulated time, without a daemon");
  const auto add_list = [replay](const char* name, auto& list, const char* help) {
    replay->add_option(name, list, help)->delimiter(',')->allow_extra_args(false)->capture_default_str();
  };
  add_list("--max-running", options.max_running, "Sequences in one step; a list a,b,c is tried in turn");
  add_list("--tokens-per-step", options.tokens_per_step, "Tokens in one step; a list");
  add_list("--tpot-target-ms", options.tpot_target_ms, "Bound on steps with rows that decode, 0: none; a list");
  add_list("--admission", options.admission, "adaptive, plan, reserve; a list");
  add_list("--blocks", options.blocks, "KV blocks; a list");
  replay->add_option("--block-size", options.block_size, "Tokens in a block")->capture_default_str();
  replay->add_option("--max-queued-requests", options.max_queued_requests, "Requests that may wait")
      ->capture_default_str();
  return replay;
}

}  // namespace

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

std::variant<CommandLine, int> parse_command_line(const std::vector<std::string>& arguments, uint64_t fresh_seed,
                                                  std::ostream& out, std::ostream& err) {
  CLI::App app("Loads a running sluiced and measures it, over gRPC.", "sluice-bench");
  app.set_version_flag("--version", "sluice-bench " SLUICE_VERSION);
  app.require_subcommand(1);
  CommandLine line;
  line.run.address = client::kDefaultAddress;
  line.run.seed = fresh_seed;
  CLI::App* const run =
      app.add_subcommand("run", "Send requests with random prompts and print throughput and latencies");
  run->add_option("--address", line.run.address, "The daemon's gRPC address")
      ->type_name("H:P")
      ->envname("SLUICE_ADDRESS")
      ->capture_default_str();
  run->add_option("--api-key", line.run.api_key, "The key to call with; better given in the environment")
      ->type_name("KEY")
      ->envname("SLUICE_API_KEY");
  run->add_option("--tls-ca", line.run.tls_ca_path, "Speak TLS, and trust the roots in this PEM file")
      ->type_name("FILE")
      ->envname("SLUICE_TLS_CA");
  add_load_options(*run, line.run);
  add_request_options(*run, line.run);
  run->add_option("--json", line.json_file, "Also write the figures to this file")->type_name("FILE");
  ReplayOptions replay_options;
  const CLI::App* const replay = add_replay(app, replay_options);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? 0 : 2;
  }
  if (replay->parsed()) {
    line.replay = replay_options;
    return line;
  }
  if (const Status status = line.run.validate(); !status.ok()) {
    err << "sluice-bench: " << status.message() << std::endl;
    return 2;
  }
  return line;
}

}  // namespace sluice::bench
