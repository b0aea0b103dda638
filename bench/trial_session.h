#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/signal_watcher.h"
#include "bench/load_runner.h"
#include "bench/run_config.h"
#include "bench/slo.h"
#include "bench/subcommand.h"
#include "bench/target_options.h"
#include "bench/trial_limits.h"
#include "bench/trial_runner.h"
#include "client/cancellation.h"
#include "client/inference_client.h"

namespace CLI {
class App;
}

namespace sluice::bench {

/// What the commands that make trials of a server have in common.
struct TrialOptions {
  TargetConfig target;
  std::string admin_address;
  RunConfig load;           ///< what is sent; when, is each trial's
  std::string report_path;  ///< HTML; empty: none
  std::string json_path;    ///< empty: none
};

/// The server as a positional argument or --address, --admin, what requests ask for, --slo, --seed, --report, --json.
void add_trial_options(CLI::App& command, TrialOptions& options);

/// Everything that trials need, connected. An interrupt ends the trial that runs and every later one; whoever borrowed
/// the limits puts them back. One thread.
class TrialSession {
 public:
  /// Before anything that starts a thread. Limits are borrowed only where they are to be set, which takes a Sluice
  /// daemon over gRPC.
  static Result<std::unique_ptr<TrialSession>> open(const TrialOptions& options, bool sets_limits,
                                                    const Environment& environment);

  /// A trial; see TrialRunner::run. `on_tick` is called several times a second.
  Result<Trial> run(const TrialPoint& point, const TrialLength& length, const std::function<void()>& on_tick);

  TrialLimits& limits() { return *limits_; }  ///< where they were borrowed
  bool stopped() const { return runner_.stopped(); }
  /// "MODEL on DEVICE, version V"
  std::string server_text() const;

 private:
  TrialSession(const TrialOptions& options, const Environment& environment);
  Status connect(bool sets_limits);
  std::optional<Fullness> fullness() const;

  const TrialOptions& options_;
  const Environment& environment_;
  LoadRunner runner_;
  client::Cancellation cancellation_;
  const SignalWatcher watcher_;  // before the clients, which start threads
  std::unique_ptr<Target> target_;
  std::unique_ptr<client::InferenceClient> daemon_;  // null for other servers
  std::unique_ptr<client::InferenceClient> admin_;
  std::optional<TrialLimits> limits_;
  std::optional<TrialRunner> trials_;
  std::function<void()> on_tick_;
};

/// As it was typed, for reports; keys are left out.
std::string shown_command_line(const std::vector<std::string>& arguments);

}  // namespace sluice::bench
