#include "cli/status_commands.h"

#include <chrono>
#include <string>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

void print_load(std::ostream& out, const v1::GetLoadResponse& load) {
  out << "running    " << load.running_sequences() << " of " << load.max_running() << " sequences\n"
      << "waiting    " << load.waiting_requests() << " of " << load.max_queued_requests() << " requests, "
      << load.waiting_prompt_tokens() << " prompt tokens";
  if (load.waiting_requests() > 0) out << "; the next one lacks: " << load.waiting_for();
  out << '\n'
      << "KV blocks  " << load.blocks_used() << " used, " << load.blocks_reserved() << " reserved, "
      << load.blocks_cached() << " cached, " << load.blocks_total() << " in all, of " << load.block_size()
      << " tokens\n"
      << "computed   " << load.prefill_tokens() << " prompt tokens and " << load.decode_tokens() << " output tokens in "
      << load.steps() << " steps\n"
      << "preempted  " << load.preemptions() << ", paused " << load.pauses() << " times\n";
  if (load.draining()) out << "draining: no new requests are taken\n";
}

Json load_to_json(const v1::GetLoadResponse& load) {
  return {{"running_sequences", load.running_sequences()},
          {"waiting_requests", load.waiting_requests()},
          {"waiting_prompt_tokens", load.waiting_prompt_tokens()},
          {"waiting_for", load.waiting_for()},
          {"max_running", load.max_running()},
          {"max_queued_requests", load.max_queued_requests()},
          {"block_size", load.block_size()},
          {"blocks_total", load.blocks_total()},
          {"blocks_used", load.blocks_used()},
          {"blocks_reserved", load.blocks_reserved()},
          {"blocks_cached", load.blocks_cached()},
          {"blocks_shared", load.blocks_shared()},
          {"steps", load.steps()},
          {"prefill_tokens", load.prefill_tokens()},
          {"decode_tokens", load.decode_tokens()},
          {"preemptions", load.preemptions()},
          {"pauses", load.pauses()},
          {"draining", load.draining()}};
}

void print_model(std::ostream& out, const v1::GetModelResponse& model) {
  out << model.name() << '\n'
      << "  architecture  " << model.architecture() << '\n'
      << "  parameters    " << model.parameter_count() << '\n'
      << "  vocabulary    " << model.vocab_size() << " tokens\n"
      << "  context       " << model.context_length() << " tokens\n"
      << "  bos           " << (model.has_bos_id() ? std::to_string(model.bos_id()) : "none") << '\n'
      << "  ends          ";
  for (const int32_t id : model.end_ids()) out << id << ' ';
  out << "\n  device        " << model.device() << "\n  version       " << model.version() << '\n';
}

Json model_to_json(const v1::GetModelResponse& model) {
  return {{"name", model.name()},
          {"architecture", model.architecture()},
          {"vocab_size", model.vocab_size()},
          {"context_length", model.context_length()},
          {"parameter_count", model.parameter_count()},
          {"bos_id", model.has_bos_id() ? Json(model.bos_id()) : Json(nullptr)},
          {"end_ids", std::vector<int32_t>(model.end_ids().begin(), model.end_ids().end())},
          {"device", model.device()},
          {"version", model.version()}};
}

template <typename Response>
Result<Response> ask(const StatusCommandOptions& options,
                     Result<Response> (client::InferenceClient::*method)(const client::CallOptions&)) {
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  return ((*daemon).*method)(call_options(options.connection));
}

}  // namespace

void add_status_options(CLI::App& app, StatusCommandOptions& options) {
  add_connection_options(app, options.connection);
  app.add_flag("--json", options.json, "Print JSON");
}

ExitCode run_load(const StatusCommandOptions& options, const Terminal& terminal) {
  const Result<v1::GetLoadResponse> load = ask(options, &client::InferenceClient::get_load);
  if (!load.ok()) return report_failure(terminal, load.status());
  if (options.json) {
    terminal.out << load_to_json(*load).dump() << '\n';
  } else {
    print_load(terminal.out, *load);
  }
  return finish_output(terminal);
}

ExitCode run_models(const StatusCommandOptions& options, const Terminal& terminal) {
  const Result<v1::GetModelResponse> model = ask(options, &client::InferenceClient::get_model);
  if (!model.ok()) return report_failure(terminal, model.status());
  if (options.json) {
    terminal.out << Json::array({model_to_json(*model)}).dump() << '\n';
  } else {
    print_model(terminal.out, *model);
  }
  return finish_output(terminal);
}

ExitCode run_health(const ConnectionOptions& options, const Terminal& terminal) {
  constexpr int64_t kWaitMs = 1000;
  const int64_t wait_ms = options.wait_ms.value_or(options.timeout_ms.value_or(kWaitMs));
  const auto daemon = connect(options);
  if (!daemon.ok()) return report_failure(terminal, daemon.status());
  const Status serves = (*daemon)->wait_until_ready(std::chrono::milliseconds(wait_ms));
  if (!serves.ok()) return report_failure(terminal, serves);
  terminal.out << "SERVING\n";
  return finish_output(terminal);
}

}  // namespace sluice::cli
