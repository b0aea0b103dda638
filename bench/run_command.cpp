#include "bench/run_command.h"

#include <fstream>
#include <memory>
#include <optional>
#include <utility>

#include "base/signal_watcher.h"
#include "bench/command_line.h"
#include "bench/load_generator.h"
#include "bench/progress_bar.h"
#include "bench/prompt_source.h"
#include "bench/report_output.h"

namespace sluice::bench {
namespace {

enum ExitCode : int { kFine = 0, kFailed = 1, kInterrupted = 130 };

ExitCode report_failure(const Output& output, const Status& status) {
  output.err << "sluice-bench: " << status << std::endl;
  return kFailed;
}

/// Refuses what the daemon would refuse or cut short request by request.
Status check_fits(const RunConfig& config, const v1::GetModelResponse& model) {
  const int64_t longest = int64_t{config.shared_prefix_tokens} + config.prompt_tokens.max + config.output_tokens;
  if (longest <= model.context_length()) return {};
  return failed_precondition("prompt and output are up to " + std::to_string(longest) + " tokens, but " + model.name() +
                             " is served with a context of " + std::to_string(model.context_length()));
}

Result<PromptSource> prompts_for(const RunConfig& config, const v1::GetModelResponse& model) {
  SLUICE_RETURN_IF_ERROR(check_fits(config, model));
  std::vector<int32_t> excluded(model.end_ids().begin(), model.end_ids().end());
  if (model.has_bos_id()) excluded.push_back(model.bos_id());
  SLUICE_ASSIGN_OR_RETURN(PromptSource prompts,
                          PromptSource::create(model.vocab_size(), excluded, config.prompt_tokens, config.seed));
  prompts.share_prefix(config.shared_prefix_tokens);
  return prompts;
}

v1::CompleteRequest make_request(const RunConfig& config, const PromptSource& prompts, uint64_t index) {
  const std::vector<int32_t> prompt = prompts.prompt(index);
  v1::CompleteRequest request;
  request.mutable_token_ids()->mutable_ids()->Assign(prompt.begin(), prompt.end());
  request.mutable_sampling()->set_temperature(config.temperature);
  request.mutable_stopping()->set_max_tokens(config.output_tokens);
  request.mutable_stopping()->set_ignore_eos(true);
  request.mutable_stopping()->mutable_stop_token_ids()->Assign(config.stop_token_ids.begin(),
                                                               config.stop_token_ids.end());
  return request;
}

std::unique_ptr<Pacer> make_pacer(const RunConfig& config, TimePoint start) {
  if (config.concurrency) return std::make_unique<ClosedLoop>(*config.concurrency);
  return std::make_unique<PoissonArrivals>(*config.rate, config.seed, start, config.in_flight_max);
}

std::optional<TimePoint> end_of_sending(const RunConfig& config, TimePoint start) {
  if (!config.seconds) return std::nullopt;
  return start + std::chrono::duration_cast<Duration>(std::chrono::duration<double>(*config.seconds));
}

double share_done(const RunConfig& config, int64_t requests_done, Duration elapsed) {
  if (config.requests) return static_cast<double>(requests_done) / static_cast<double>(*config.requests);
  return to_seconds(elapsed) / *config.seconds;
}

/// What stays the same through all phases of a run. Lent.
struct Run {
  const RunConfig& config;
  const PromptSource& prompts;
  client::InferenceClient& client;
  LoadGenerator& generator;
  const Clock& clock;
};

void warm_up(const Run& run) {
  ClosedLoop pacer(run.config.concurrency.value_or(1));
  Phase phase{.make_request = [&run](uint64_t index) { return make_request(run.config, run.prompts, index); },
              .tenant = run.config.tenant,
              .pacer = pacer,
              .requests = run.config.warmup,
              .end = {},
              .on_outcome = [](const RequestOutcome&) {},
              .on_tick = [] {}};
  run.generator.run(run.client, phase);
}

Report measure(const Run& run, const Output& output) {
  Measurements measurements(run.config.stop_token_ids.empty() ? std::optional(run.config.output_tokens) : std::nullopt);
  ProgressBar bar(output.err, output.err_is_terminal);
  const TimePoint start = run.clock.now();
  const auto on_outcome = [&](const RequestOutcome& outcome) {
    const bool was_interrupted = run.generator.stopped() && outcome.status.code() == StatusCode::kCancelled;
    if (was_interrupted) {
      measurements.add_interrupted();
    } else {
      measurements.add(outcome);
    }
  };
  const auto on_tick = [&] {
    bar.draw(share_done(run.config, measurements.count(), run.clock.now() - start), measurements.count());
  };
  const std::unique_ptr<Pacer> pacer = make_pacer(run.config, start);
  Phase phase{.make_request = [&run](uint64_t index) { return make_request(run.config, run.prompts, index); },
              .tenant = run.config.tenant,
              .pacer = *pacer,
              .requests = run.config.requests,
              .end = end_of_sending(run.config, start),
              .on_outcome = on_outcome,
              .on_tick = on_tick};
  run.generator.run(run.client, phase);
  bar.clear();
  return measurements.report(run.clock.now() - start);
}

ExitCode write_json(const std::string& text, std::ofstream& file, const std::string& name, const Output& output) {
  file << text << std::endl;
  if (file.good()) return kFine;
  return report_failure(output, unavailable("writing " + name + " failed"));
}

/// Opened before the run: a wrong path should not cost a long measurement.
Status open_json(const std::string& name, std::ofstream& file) {
  if (name.empty()) return {};
  file.open(name);
  return file.good() ? Status() : failed_precondition("cannot write --json file " + name);
}

ExitCode publish(const CommandLine& line, const v1::GetModelResponse& model, const Report& report,
                 std::ofstream& json_file, const Output& output) {
  print_report(output.out, line.run, model, report);
  if (line.json_file.empty()) return kFine;
  return write_json(report_to_json(line.run, model, report), json_file, line.json_file, output);
}

Result<client::Identity> identity_of(const RunConfig& config) {
  if (config.tls_ca_path.empty()) return client::make_identity(config.api_key, std::nullopt);
  return client::make_identity(config.api_key, client::TlsFiles{.ca = config.tls_ca_path, .cert = {}, .key = {}});
}

ExitCode run(const CommandLine& line, const Output& output, const Clock& clock) {
  std::ofstream json_file;
  if (const Status status = open_json(line.json_file, json_file); !status.ok()) return report_failure(output, status);

  LoadGenerator generator(clock);
  client::Cancellation cancellation;
  // Before the client, which starts threads.
  const SignalWatcher watcher([&](int) {
    cancellation.cancel();
    generator.stop();
  });
  const Result<client::Identity> identity = identity_of(line.run);
  if (!identity.ok()) return report_failure(output, identity.status());
  client::InferenceClient client(line.run.address, *identity);
  const Result<v1::GetModelResponse> model = client.get_model({.cancellation = &cancellation});
  if (!model.ok()) return report_failure(output, model.status());
  const Result<PromptSource> prompts = prompts_for(line.run, *model);
  if (!prompts.ok()) return report_failure(output, prompts.status());

  const Run run{.config = line.run, .prompts = *prompts, .client = client, .generator = generator, .clock = clock};
  warm_up(run);
  const Report report = measure(run, output);
  const ExitCode published = publish(line, *model, report, json_file, output);
  if (published != kFine) return published;
  if (generator.stopped()) return kInterrupted;
  return report.errors == report.requests ? kFailed : kFine;
}

}  // namespace

int run_program(const std::vector<std::string>& arguments, const Output& output, const Environment& environment) {
  const std::variant<CommandLine, int> parsed =
      parse_command_line(arguments, environment.fresh_seed, output.out, output.err);
  if (const int* const exit_code = std::get_if<int>(&parsed)) return *exit_code;
  const CommandLine& line = std::get<CommandLine>(parsed);
  if (!line.replay) return run(line, output, environment.clock);
  const Status status = run_replay(*line.replay, output.out);
  return status.ok() ? kFine : report_failure(output, status);
}

}  // namespace sluice::bench
