#include "bench/replay_command.h"

#include <iomanip>
#include <memory>
#include <sstream>

#include <CLI/CLI.hpp>

#include "bench/load_options.h"
#include "bench/summary.h"
#include "bench/trace_file.h"

namespace sluice::bench {
namespace {

constexpr int kColumnWidth = 10;

struct Row {
  int64_t finished = 0;
  int64_t refused = 0;
  int64_t expired = 0;
  int64_t paused = 0;
  int64_t output_tokens = 0;
  std::vector<double> ttft_ms;
  std::vector<double> tpot_ms;
  std::vector<double> gap_ms;
  std::vector<double> e2e_ms;
};

Row row_of(const simulation::ReplayReport& report) {
  using End = simulation::ReplayedRequest::End;
  Row row;
  for (const simulation::ReplayedRequest& request : report.requests) {
    row.finished += request.end == End::kFinished ? 1 : 0;
    row.refused += request.end == End::kRefused ? 1 : 0;
    row.expired += request.end == End::kExpired ? 1 : 0;
    row.paused += request.was_paused ? 1 : 0;
    row.output_tokens += request.output_tokens;
    if (request.ttft) row.ttft_ms.push_back(to_milliseconds(*request.ttft));
    if (request.end != End::kFinished) continue;
    row.e2e_ms.push_back(to_milliseconds(request.last.value_or(Duration{})));
    const scheduler::Ledger& ledger = request.ledger;
    if (ledger.output_tokens < 2) continue;
    row.tpot_ms.push_back(to_milliseconds(ledger.last_token - ledger.first_token) / (ledger.output_tokens - 1));
    row.gap_ms.push_back(to_milliseconds(request.longest_gap));
  }
  return row;
}

void print_head(std::ostream& out) {
  for (const char* const column : {"running", "tok/step", "tpot_goal", "admission", "blocks"}) {
    out << std::setw(kColumnWidth) << column;
  }
  out << " |";
  for (const char* const column : {"tok/s", "refused", "expired", "paused", "TTFT p50", "TTFT p99", "TPOT p50",
                                   "TPOT p99", "gap p99", "e2e p50", "e2e p99"}) {
    out << std::setw(kColumnWidth) << column;
  }
  out << '\n';
}

void print_row(std::ostream& out, const simulation::ReplayConfig& config, const simulation::ReplayReport& report) {
  const Row row = row_of(report);
  const Summary ttft = summarize(row.ttft_ms);
  const Summary tpot = summarize(row.tpot_ms);
  const Summary e2e = summarize(row.e2e_ms);
  const double seconds = to_seconds(report.duration);
  out << std::setw(kColumnWidth) << config.scheduler.max_running << std::setw(kColumnWidth)
      << config.scheduler.tokens_per_step << std::setw(kColumnWidth) << config.scheduler.tpot_target_ms
      << std::setw(kColumnWidth) << config.scheduler.admission << std::setw(kColumnWidth) << config.block_count << " |";
  out << std::setw(kColumnWidth) << (seconds > 0 ? static_cast<double>(row.output_tokens) / seconds : 0)
      << std::setw(kColumnWidth) << row.refused << std::setw(kColumnWidth) << row.expired << std::setw(kColumnWidth)
      << row.paused;
  for (const double value : {ttft.p50, ttft.p99, tpot.p50, tpot.p99, summarize(row.gap_ms).p99, e2e.p50, e2e.p99}) {
    out << std::setw(kColumnWidth) << value;
  }
  out << '\n';
}

Status check(const simulation::ReplayConfig& config) {
  SLUICE_RETURN_IF_ERROR(config.scheduler.validate());
  if (config.block_count < 1 || config.block_count > 1 << 24) return invalid_field("--blocks", "must be 1 to 16777216");
  if (config.block_size < 1 || config.block_size > 1024) return invalid_field("--block-size", "must be 1 to 1024");
  if (int64_t{config.block_count} * config.block_size > INT32_MAX) {
    return invalid_field("--blocks", "times --block-size must be below 2^31");
  }
  return {};
}

void add_replay_options(CLI::App& command, ReplayOptions& options) {
  command.add_option("trace", options.trace_path, "The trace")->type_name("FILE")->required();
  command
      .add_option("target", options.target, "Send it to this server: a Sluice daemon's gRPC address, or an http:// URL")
      ->type_name("H:P|URL");
  command.add_flag("--simulate", options.simulate, "In simulated time, without a daemon");
  const auto add_list = [&command](const char* name, auto& list, const char* help) {
    command.add_option(name, list, help)->delimiter(',')->allow_extra_args(false)->capture_default_str();
  };
  add_list("--max-running", options.max_running, "Sequences in one step; a list a,b,c is tried in turn");
  add_list("--tokens-per-step", options.tokens_per_step, "Tokens in one step; a list");
  add_list("--tpot-target-ms", options.tpot_target_ms, "Bound on steps with rows that decode, 0: none; a list");
  add_list("--admission", options.admission, "adaptive, plan, reserve; a list");
  add_list("--blocks", options.blocks, "KV blocks; a list");
  command.add_option("--block-size", options.block_size, "Tokens in a block")->capture_default_str();
  command.add_option("--max-queued-requests", options.max_queued_requests, "Requests that may wait")
      ->capture_default_str();
}

void add_live_options(CLI::App& command, RunOptions& live) {
  add_caller_options(command, live.target);
  command.add_option("--speed", live.load.trace_speed, "To a server: so many times as fast as it came")
      ->capture_default_str();
  command.add_option("--requests", live.load.requests, "To a server: send the first so many requests only");
  add_common_load_options(command, live.load);
  add_slo_options(command, live.load);
  add_output_options(command, live.outputs);
}

/// Which of the two: exactly one.
Status validate(const ReplayOptions& options) {
  if (options.simulate == !options.target.empty()) {
    return invalid_argument("give a server to send the trace to, or --simulate");
  }
  if (options.simulate) return {};
  RunConfig load = options.live.load;
  load.trace = std::make_shared<const std::vector<simulation::TracedArrival>>();
  return load.validate();
}

Result<ExitCode> run_live(const ReplayOptions& options, const Output& output, const Environment& environment) {
  SLUICE_ASSIGN_OR_RETURN(Trace trace, read_trace(options.trace_path));
  RunOptions live = options.live;
  live.target.address = options.target;
  live.load.trace = std::make_shared<const std::vector<simulation::TracedArrival>>(std::move(trace.arrivals));
  return run_once(live.target, live.load, live.outputs, output, environment);
}

}  // namespace

Subcommand add_replay_command(CLI::App& program, const Output& output, const Environment& environment) {
  const auto options = std::make_shared<ReplayOptions>();
  options->live.load.seed = environment.fresh_seed;
  CLI::App* const command = program.add_subcommand(
      "replay",
      "A daemon's trace (log.trace_path) once more: to a server, with random prompts of the same lengths at the same "
      "times, or through the scheduler in simulated time: what would other limits have done?");
  add_replay_options(*command, *options);
  add_live_options(*command, options->live);
  return {.app = command, .run = [options, output, environment] {
            return exit_code_of(output, validate(*options), [&]() -> Result<ExitCode> {
              if (!options->simulate) return run_live(*options, output, environment);
              SLUICE_RETURN_IF_ERROR(run_replay(*options, output.out));
              return kFine;
            });
          }};
}

Result<std::vector<simulation::ReplayConfig>> configurations(const ReplayOptions& options) {
  std::vector<simulation::ReplayConfig> configs;
  for (const std::string& admission : options.admission) {
    for (const int32_t blocks : options.blocks) {
      for (const double target : options.tpot_target_ms) {
        for (const int32_t tokens : options.tokens_per_step) {
          for (const int32_t running : options.max_running) {
            simulation::ReplayConfig config;
            config.scheduler.max_running = running;
            config.scheduler.tokens_per_step = tokens;
            config.scheduler.tpot_target_ms = target;
            config.scheduler.admission = admission;
            config.scheduler.max_queued_requests = options.max_queued_requests;
            config.block_count = blocks;
            config.block_size = options.block_size;
            SLUICE_RETURN_IF_ERROR(check(config));
            configs.push_back(config);
          }
        }
      }
    }
  }
  return configs;
}

Status run_replay(const ReplayOptions& options, std::ostream& out) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<simulation::ReplayConfig> configs, configurations(options));
  SLUICE_ASSIGN_OR_RETURN(const Trace trace, read_trace(options.trace_path));
  const scheduler::StepPrices& prices = trace.prices;
  if (prices.milliseconds({.prefill_tokens = 1, .decode_rows = 1, .context_tokens = 1, .prefill_pairs = 1}) == 0) {
    return failed_precondition(options.trace_path + ": says nowhere what a step costs; let the daemon serve longer");
  }
  out << trace.arrivals.size() << " requests in " << to_seconds(trace.arrivals.back().at)
      << " s; a step is foretold to take " << prices.fixed_ms << " ms + " << prices.prefill_token_ms
      << " per prompt token + " << prices.decode_row_ms << " per row + " << 1000 * prices.context_token_ms
      << " per 1000 keys of rows + " << 1e6 * prices.prefill_pair_ms << " per million pairs of prompts\n\n";
  const std::ios::fmtflags flags = out.flags();
  const std::streamsize precision = out.precision();
  out << std::fixed << std::setprecision(1);
  print_head(out);
  for (simulation::ReplayConfig& config : configs) {
    config.prices = prices;
    const auto next = [&trace](uint64_t index) {
      return index < trace.arrivals.size() ? std::optional(trace.arrivals[index]) : std::nullopt;
    };
    print_row(out, config, simulation::replay(next, config));
  }
  out.flags(flags);
  out.precision(precision);
  out.flush();
  return {};
}

}  // namespace sluice::bench
