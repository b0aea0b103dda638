#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/logger.h"
#include "base/status.h"
#include "server/access.h"
#include "server/chat_prompt.h"
#include "server/config.h"
#include "server/grpc_server.h"
#include "server/grpc_services.h"
#include "server/health_teller.h"
#include "server/http_api.h"
#include "server/http_front.h"
#include "server/http_server.h"
#include "server/live_page.h"
#include "server/model_host.h"
#include "server/observability_routes.h"
#include "server/request_journal.h"
#include "server/request_trace.h"
#include "server/serving_core.h"
#include "server/span_exporter.h"
#include "server/tls_files.h"

namespace sluice::server {

/// What the outside world gives an App; all of it is lent.
struct AppEnvironment {
  const Clock& clock;
  std::function<std::chrono::system_clock::time_point()> wall_clock;
  Logger& logger;
  uint64_t seed = 0;                         ///< for requests without one
  std::array<std::byte, 32> cache_secret{};  ///< keys the prefix cache
  std::string version;
  std::FILE* terminal = nullptr;  ///< where somebody watches the start; lent
};

/// The daemon in one object: listeners, model and serving core, in the order that makes a bad start fail early: the
/// ports are taken before the model is loaded. One thread calls it.
class App {
 public:
  App(const Config& config, AppEnvironment environment);
  /// Ends at once what is still going on.
  ~App();
  App(const App&) = delete;
  App& operator=(const App&) = delete;

  /// Serves when it returns OK. Else one line that says what to do.
  Status start();
  /// Where it listens and what it serves, as one line of JSON; after start().
  std::string ready_line() const;
  const ListenAddress& grpc_address() const { return grpc_server_->address(); }
  const ListenAddress& http_address() const { return http_server_->address(); }
  const ListenAddress& admin_address() const { return admin_server_->address(); }

  /// Tells grpc.health.v1 and the log when health changes, and takes up TLS files that have changed; to be called about
  /// once a second while serving.
  void update();
  /// Reads the API keys and TLS files again; what can't be used is logged, and the old ones stay.
  void reload();
  /// Lets running and queued requests finish within server.drain_timeout_ms, refuses others, then stops listening.
  void drain();

 private:
  Status listen();
  Status open_journal();
  void set_serving(bool serving);
  void reload_tls();
  std::vector<HttpRoute> routes();
  std::vector<HttpRoute> observation_routes();
  ChatPrompter chat_prompter() const;
  HttpFront http_front();
  LiveFront live_front() const;
  void log_start(TimePoint began) const;

  const Config config_;
  AppEnvironment environment_;
  HealthTeller health_teller_;
  TlsTimes tls_times_{};

  std::atomic<Readiness> readiness_{Readiness::kLoading};
  /// Set once there is something to ask; read on the HTTP thread.
  std::atomic<const ServingCore*> observed_{nullptr};
  GrpcServices grpc_services_;
  std::unique_ptr<Access> access_;
  ModelHost host_;
  RequestJournal journal_;
  const SpanExporter* exporter_ = nullptr;  // in the journal
  RequestTrace* trace_ = nullptr;           // the same
  std::unique_ptr<ServingCore> core_;
  std::optional<HttpFront> http_front_;
  std::optional<LiveFront> live_front_;
  LivePage live_page_;
  HttpApi http_api_;                         // its workers use what stands above
  std::unique_ptr<HttpServer> http_server_;  // after what its handlers look at, so that it ends before
  std::unique_ptr<GrpcServer> grpc_server_;
  std::unique_ptr<GrpcServer> admin_server_;
};

/// Runs the daemon until a signal ends it; the exit code. SIGTERM or SIGINT drains, or ends the start at once (0 both);
/// a second one ends the process at once (1). SIGHUP reloads. 1 also when it can't start. Called before any thread
/// begins: it blocks the three signals in all of them.
int run_app(const Config& config, std::string_view version);

/// Looks at the configured model instead of serving it (check_model()): the summary goes to stdout, an error to stderr.
/// Returns the exit code, 0 or 1.
int run_model_check(const Config& config);

}  // namespace sluice::server
