#include "cli/limits_command.h"

#include <nlohmann/json.hpp>

#include "cli/number_option.h"

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

template <typename Number>
void add_limit(CLI::App& app, v1::Limits& wanted, const char* name, void (v1::Limits::*set)(Number), const char* help) {
  const auto take = [&wanted, name, set](const std::string& text) {
    const std::optional<Number> number = parse_number<Number>(text);
    if (!number) throw not_a_number(name, text);
    (wanted.*set)(*number);
  };
  app.add_option_function<std::string>(name, take, help)->type_name("N");
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
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  if (options.wanted.ByteSizeLong() == 0) return daemon->get_limits(call_options(options.connection));
  return daemon->set_limits(options.wanted, call_options(options.connection));
}

}  // namespace

void add_limits_options(CLI::App& app, LimitsOptions& options) {
  add_connection_options(app, options.connection, Listener::kAdmin);
  app.add_flag("--json", options.json, "Print JSON");
  v1::Limits& wanted = options.wanted;
  add_limit(app, wanted, "--max-running", &v1::Limits::set_max_running, "Sequences in one step");
  add_limit(app, wanted, "--max-running-per-tenant", &v1::Limits::set_max_running_per_tenant,
            "The same of one tenant; 0: no limit");
  add_limit(app, wanted, "--max-queued-requests", &v1::Limits::set_max_queued_requests, "Waiting requests");
  add_limit(app, wanted, "--max-queued-tokens", &v1::Limits::set_max_queued_tokens, "Tokens of their prompts together");
  add_limit(app, wanted, "--max-queued-per-tenant", &v1::Limits::set_max_queued_per_tenant,
            "Waiting requests of one tenant; 0: no limit");
  add_limit(app, wanted, "--tokens-per-step", &v1::Limits::set_tokens_per_step, "Tokens in one step");
  add_limit(app, wanted, "--tpot-target-ms", &v1::Limits::set_tpot_target_ms,
            "Bound on steps with running streams; 0: none");
  app.add_option_function<std::string>(
         "--admission", [&wanted](const std::string& policy) { wanted.set_admission(policy); },
         "adaptive, plan or reserve")
      ->type_name("POLICY");
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
