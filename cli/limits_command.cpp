#include "cli/limits_command.h"

#include <nlohmann/json.hpp>

#include "cli/number_option.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

/// Nothing is set when nothing was given.
v1::Limits wanted_limits(const LimitsOptions& options) {
  v1::Limits limits;
  if (options.max_running) limits.set_max_running(*options.max_running);
  if (options.max_running_per_tenant) limits.set_max_running_per_tenant(*options.max_running_per_tenant);
  if (options.max_queued_requests) limits.set_max_queued_requests(*options.max_queued_requests);
  if (options.max_queued_tokens) limits.set_max_queued_tokens(*options.max_queued_tokens);
  if (options.max_queued_per_tenant) limits.set_max_queued_per_tenant(*options.max_queued_per_tenant);
  if (options.tokens_per_step) limits.set_tokens_per_step(*options.tokens_per_step);
  if (options.tpot_target_ms) limits.set_tpot_target_ms(*options.tpot_target_ms);
  if (options.admission) limits.set_admission(*options.admission);
  return limits;
}

Json to_json(const v1::Limits& limits) {
  return {{"max_running", limits.max_running()},
          {"max_running_per_tenant", limits.max_running_per_tenant()},
          {"max_queued_requests", limits.max_queued_requests()},
          {"max_queued_tokens", limits.max_queued_tokens()},
          {"max_queued_per_tenant", limits.max_queued_per_tenant()},
          {"tokens_per_step", limits.tokens_per_step()},
          {"tpot_target_ms", limits.tpot_target_ms()},
          {"admission", limits.admission()}};
}

void print(std::ostream& out, const v1::Limits& limits) {
  const Json json = to_json(limits);
  for (const auto& [name, value] : json.items()) {
    out << name << std::string(24 - name.size(), ' ') << (value.is_string() ? value.get<std::string>() : value.dump())
        << '\n';
  }
}

Result<v1::Limits> ask(const LimitsOptions& options) {
  client::InferenceClient daemon(options.connection.address);
  SLUICE_RETURN_IF_ERROR(await_daemon(daemon, options.connection));
  const v1::Limits wanted = wanted_limits(options);
  if (wanted.ByteSizeLong() == 0) return daemon.get_limits(call_options(options.connection));
  return daemon.set_limits(wanted, call_options(options.connection));
}

}  // namespace

void add_limits_options(CLI::App& app, LimitsOptions& options) {
  add_connection_options(app, options.connection);
  app.add_flag("--json", options.json, "Print JSON");
  add_number(app, "--max-running", options.max_running, "Sequences in one step");
  add_number(app, "--max-running-per-tenant", options.max_running_per_tenant, "The same of one tenant; 0: no limit");
  add_number(app, "--max-queued-requests", options.max_queued_requests, "Waiting requests");
  add_number(app, "--max-queued-tokens", options.max_queued_tokens, "Tokens of their prompts together");
  add_number(app, "--max-queued-per-tenant", options.max_queued_per_tenant,
             "Waiting requests of one tenant; 0: no limit");
  add_number(app, "--tokens-per-step", options.tokens_per_step, "Tokens in one step");
  add_number(app, "--tpot-target-ms", options.tpot_target_ms, "Bound on steps with running streams; 0: none");
  app.add_option("--admission", options.admission, "adaptive, plan or reserve")->type_name("POLICY");
}

ExitCode run_limits(const LimitsOptions& options, const Terminal& terminal) {
  const Result<v1::Limits> limits = ask(options);
  if (!limits.ok()) return report_failure(terminal, limits.status());
  if (options.json) {
    terminal.out << to_json(*limits).dump() << '\n';
  } else {
    print(terminal.out, *limits);
  }
  return finish_output(terminal);
}

}  // namespace sluice::cli
