#include "bench/trial_session.h"

#include <CLI/CLI.hpp>

#include "bench/load_options.h"
#include "bench/parsed_option.h"
#include "bench/server_url.h"

namespace sluice::bench {
namespace {

constexpr std::chrono::milliseconds kLoadTimeout{1000};

}  // namespace

void add_trial_options(CLI::App& command, TrialOptions& options) {
  add_target_options(command, options.target);
  command.add_option("target", options.target.address, "The same as --address")->type_name("H:P|URL");
  options.admin_address = client::kDefaultAdminAddress;
  command.add_option("--admin", options.admin_address, "The daemon's admin address, where limits are set")
      ->type_name("H:P")
      ->envname("SLUICE_ADMIN_ADDRESS")
      ->capture_default_str();
  add_request_options(command, options.load);
  add_parsed(command, "--slo", options.load.slo, parse_slo,
             "What a request must keep to count as good: of ttft, tpot, itl (the longest gap) and e2e, as in "
             "ttft=1s,tpot=40ms")
      ->type_name("NAME=TIME,…");
  command.add_option("--seed", options.load.seed, "Of prompts, lengths and arrivals; drawn anew by default");
  command.add_option("--report", options.report_path, "Write a page with plots, in one HTML file")->type_name("FILE");
  command.add_option("--json", options.json_path, "Also write the figures to this file")->type_name("FILE");
}

TrialSession::TrialSession(const TrialOptions& options, const Environment& environment)
    : options_(options),
      environment_(environment),
      runner_(environment.clock, environment.client_cpu),
      watcher_([this](int) {
        cancellation_.cancel();
        runner_.stop();
      }) {}

Result<std::unique_ptr<TrialSession>> TrialSession::open(const TrialOptions& options, bool sets_limits,
                                                         const Environment& environment) {
  std::unique_ptr<TrialSession> session(new TrialSession(options, environment));
  SLUICE_RETURN_IF_ERROR(session->connect(sets_limits));
  return session;
}

Status TrialSession::connect(bool sets_limits) {
  SLUICE_ASSIGN_OR_RETURN(const ServerUrl url, parse_server_url(options_.target.address));
  const bool is_daemon = url.scheme == ServerUrl::Scheme::kGrpc;
  if (sets_limits && !is_daemon) {
    return invalid_argument("limits can be set of a Sluice daemon only; give its gRPC address instead of " +
                            options_.target.address);
  }
  SLUICE_ASSIGN_OR_RETURN(target_, open_target(options_.target, cancellation_));
  SLUICE_ASSIGN_OR_RETURN(const client::Identity identity, identity_of(options_.target));
  if (is_daemon) daemon_ = std::make_unique<client::InferenceClient>(url.address, identity);
  if (sets_limits) {
    admin_ = std::make_unique<client::InferenceClient>(options_.admin_address, identity);
    SLUICE_ASSIGN_OR_RETURN(limits_, TrialLimits::borrow(*admin_, options_.admin_address));
  }
  TrialRunner::Parts parts{.runner = runner_,
                           .target = *target_,
                           .clock = environment_.clock,
                           .limits = limits_ ? &*limits_ : nullptr,
                           .fullness = {},
                           .on_tick = [this] {
                             if (on_tick_) on_tick_();
                           }};
  if (is_daemon) parts.fullness = [this] { return fullness(); };
  trials_.emplace(parts, options_.load, options_.load.slo);
  return {};
}

Result<Trial> TrialSession::run(const TrialPoint& point, const TrialLength& length,
                                const std::function<void()>& on_tick) {
  on_tick_ = on_tick;
  return trials_->run(point, length);
}

std::optional<Fullness> TrialSession::fullness() const {
  const Result<v1::GetLoadResponse> load = daemon_->get_load({.timeout = kLoadTimeout});
  if (!load.ok() || load->blocks_total() < 1) return std::nullopt;
  const double blocks = load->blocks_total();
  return Fullness{.kv_used = load->blocks_used() / blocks,
                  .kv_reserved = load->blocks_reserved() / blocks,
                  .running = load->running_sequences()};
}

std::string TrialSession::server_text() const {
  const ServedModel& model = target_->model();
  std::string text = model.name;
  if (!model.device.empty()) text += " on " + model.device;
  if (!model.version.empty()) text += ", version " + model.version;
  return text + ", at " + options_.target.address;
}

std::string shown_command_line(const std::vector<std::string>& arguments) {
  std::string line = "sluice-bench";
  bool is_key = false;
  for (const std::string& argument : arguments) {
    const bool has_key = argument.starts_with("--api-key=");
    const bool is_plain = !argument.empty() && argument.find_first_of(" \t\n'\"\\$*?&;|<>(){}[]") == std::string::npos;
    const std::string shown = is_key ? "…" : has_key ? "--api-key=…" : argument;
    line += is_plain || is_key || has_key ? " " + shown : " '" + shown + "'";
    is_key = argument == "--api-key";
  }
  return line;
}

}  // namespace sluice::bench
