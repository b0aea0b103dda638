#include "server/app.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/counter_random.h"
#include "base/mutex.h"
#include "base/signal_watcher.h"
#include "engine/utf8.h"
#include "server/config_file.h"
#include "server/http_post.h"
#include "server/model_check.h"
#include "server/open_file_limit.h"
#include "server/request_log.h"

namespace sluice::server {

namespace {

constexpr Duration kUpdatePeriod = std::chrono::seconds(1);
/// What failed at the end of the drain time may still reach its client for so long.
constexpr Duration kLastWords = std::chrono::milliseconds(500);
/// For a collector of traces to take a body.
constexpr Duration kExportPatience = std::chrono::seconds(3);
/// For answers that are written, but not yet sent.
constexpr Duration kFlushPatience = std::chrono::milliseconds(250);

/// Hands what signals ask for from their thread to the main one.
class SignalDesk {
 public:
  enum class Phase { kStarting, kServing };
  enum class Wish { kNone, kReload, kStop };

  /// The phase that the request met.
  Phase ask_stop() {
    const MutexLock lock(mutex_);
    wish_ = Wish::kStop;
    changed_.notify_all();
    return phase_;
  }

  void ask_reload() {
    const MutexLock lock(mutex_);
    if (wish_ != Wish::kStop) wish_ = Wish::kReload;
    changed_.notify_all();
  }

  void begin_serving() {
    const MutexLock lock(mutex_);
    phase_ = Phase::kServing;
  }

  /// What is asked for, at once or until the deadline; a reload is told once.
  Wish wait_until(TimePoint deadline) {
    const MutexLock lock(mutex_);
    while (wish_ == Wish::kNone) {
      if (changed_.wait_until(mutex_, deadline) == std::cv_status::timeout) break;
    }
    return wish_ == Wish::kReload ? std::exchange(wish_, Wish::kNone) : wish_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  Wish wish_ SLUICE_GUARDED_BY(mutex_) = Wish::kNone;
  Phase phase_ SLUICE_GUARDED_BY(mutex_) = Phase::kStarting;
};

/// Nothing is owed to anybody during the start, so nothing is wound up; a second signal wants no winding up.
void on_stop_signal(int32_t count, SignalDesk& desk) {
  if (count > 1) std::_Exit(1);
  if (desk.ask_stop() == SignalDesk::Phase::kStarting) std::_Exit(0);
}

LogLevel log_level(std::string_view name) {
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  if (name == "error") return LogLevel::kError;
  return LogLevel::kInfo;
}

uint64_t random_seed() {
  std::random_device device;
  return (uint64_t{device()} << 32) | device();
}

std::array<std::byte, 32> random_secret() {
  std::random_device device;
  std::array<std::byte, 32> secret{};
  for (std::byte& byte : secret) byte = static_cast<std::byte>(device() & 0xff);
  return secret;
}

HttpLimits http_limits(const ServerSection& server) {
  using std::chrono::milliseconds;
  return {.header_bytes = static_cast<uint32_t>(server.http_max_header_kib) << 10U,
          .body_bytes = static_cast<uint64_t>(server.http_max_body_mib) << 20U,
          .buffered_bytes = static_cast<size_t>(server.http_max_buffered_mib) << 20U,
          .connections = static_cast<size_t>(server.http_max_connections),
          .idle_timeout = milliseconds(server.http_idle_timeout_ms),
          .request_timeout = milliseconds(server.http_request_timeout_ms),
          .write_timeout = milliseconds(server.http_write_timeout_ms)};
}

int serve(const Config& config, const AppEnvironment& environment, SignalDesk& desk) {
  App app(config, environment);
  if (const Status started = app.start(); !started.ok()) {
    std::fprintf(stderr, "sluiced: %s\n", started.message().c_str());
    return 1;
  }
  desk.begin_serving();
  std::printf("%s\n", app.ready_line().c_str());
  std::fflush(stdout);
  while (true) {
    const SignalDesk::Wish wish = desk.wait_until(environment.clock.now() + kUpdatePeriod);
    if (wish == SignalDesk::Wish::kStop) break;
    if (wish == SignalDesk::Wish::kReload) app.reload();
    app.update();
  }
  app.drain();
  return 0;
}

std::chrono::system_clock::time_point wall_clock() {
  return std::chrono::system_clock::now();
}

Logger error_logger(const Config& config) {
  const LogFormat format = config.log.format == "json" ? LogFormat::kJson : LogFormat::kText;
  return {stderr, log_level(config.log.level), wall_clock, format};
}

/// stderr where somebody watches it, else nullptr.
std::FILE* error_terminal() {
  return ::isatty(STDERR_FILENO) != 0 ? stderr : nullptr;
}

}  // namespace

App::App(const Config& config, AppEnvironment environment)
    : config_(config),
      environment_(std::move(environment)),
      health_teller_([this](bool serving) { set_serving(serving); }, environment_.logger),
      live_page_(environment_.clock, environment_.version, [this] { return readiness_.load(); }) {}

App::~App() {
  if (admin_server_ != nullptr) admin_server_->stop(Duration{});
  if (grpc_server_ != nullptr) grpc_server_->stop(Duration{});
  if (http_server_ != nullptr) http_server_->stop();
}

Status App::start() {
  const TimePoint began = environment_.clock.now();
  SLUICE_ASSIGN_OR_RETURN(access_, Access::open(config_.security.api_keys_path));
  SLUICE_RETURN_IF_ERROR(listen());
  SLUICE_ASSIGN_OR_RETURN(
      host_,
      load_model_host(config_, {environment_.clock, environment_.logger, environment_.terminal}, environment_.version));
  SLUICE_RETURN_IF_ERROR(open_journal());
  core_ = std::make_unique<ServingCore>(config_, ServingCoreParts{.model = host_.served,
                                                                  .access = *access_,
                                                                  .executor = *host_.executor,
                                                                  .clock = environment_.clock,
                                                                  .wall_clock = environment_.wall_clock,
                                                                  .logger = environment_.logger,
                                                                  .chat_prompter = chat_prompter(),
                                                                  .journal = &journal_,
                                                                  .exporter = exporter_,
                                                                  .seed = environment_.seed,
                                                                  .cache_secret = environment_.cache_secret,
                                                                  .block_count = host_.block_count,
                                                                  .growth = host_.growth});
  if (trace_ != nullptr) trace_->watch(core_->stats());
  observed_.store(core_.get());
  grpc_services_.open(core_->front());
  http_front_.emplace(http_front());
  http_api_.open(*http_front_);
  live_front_.emplace(live_front());
  live_page_.open(*live_front_);
  set_serving(true);
  readiness_.store(Readiness::kReady);
  log_start(began);
  return {};
}

/// Who is told of each request that ends.
Status App::open_journal() {
  if (!config_.log.trace_path.empty()) {
    SLUICE_ASSIGN_OR_RETURN(auto trace, RequestTrace::open(config_.log.trace_path, environment_.wall_clock));
    trace_ = trace.get();
    journal_.add(std::move(trace));
  }
  if (config_.log.requests) journal_.add(std::make_unique<RequestLog>(environment_.logger));
  if (config_.tracing.otlp_url.empty()) return {};
  SLUICE_ASSIGN_OR_RETURN(HttpUrl url, parse_http_url("tracing.otlp_url", config_.tracing.otlp_url));
  auto exporter = std::make_unique<SpanExporter>(SpanExporter::Parts{
      .resource = {config_.tracing.service_name, environment_.version, engine::sanitize_utf8(host_.served.name)},
      .post = [url = std::move(url)](const std::string& body) { return post_json(url, body, kExportPatience); },
      .clock = environment_.clock,
      .wall_clock = environment_.wall_clock,
      .logger = environment_.logger,
      .seed = random_bits(environment_.seed, 1)});
  exporter_ = exporter.get();
  journal_.add(std::move(exporter));
  return {};
}

Status App::listen() {
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress http,
                          parse_listen_address(config_.server.http_listen, "server.http_listen"));
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress grpc,
                          parse_listen_address(config_.server.grpc_listen, "server.grpc_listen"));
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress admin,
                          parse_listen_address(config_.server.admin_listen, "server.admin_listen"));
  tls_times_ = tls_times(config_.security);
  SLUICE_ASSIGN_OR_RETURN(TlsContext tls, load_tls(config_.security));
  SLUICE_ASSIGN_OR_RETURN(http_server_, HttpServer::start(http, routes(), http_limits(config_.server),
                                                          config_.server.http_cors_origin, std::move(tls)));
  const GrpcOptions options = grpc_options(config_);
  SLUICE_ASSIGN_OR_RETURN(
      grpc_server_,
      GrpcServer::start(grpc, kGrpcListen, options, {{v1::Inference::service_full_name(), grpc_services_.inference}}));
  SLUICE_ASSIGN_OR_RETURN(
      admin_server_,
      GrpcServer::start(admin, kAdminListen, options, {{v1::Control::service_full_name(), grpc_services_.control}}));
  return {};
}

ChatPrompter App::chat_prompter() const {
  if (!host_.chat_template.ok()) {
    environment_.logger.warning("conversations are refused", {{"why", host_.chat_template.status().message()}});
  }
  return make_chat_prompter(host_.chat_template, host_.served, environment_.wall_clock);
}

void App::set_serving(bool serving) {
  grpc_server_->set_serving(serving);
  admin_server_->set_serving(serving);
}

HttpFront App::http_front() {
  const GrpcFront& core = core_->front();
  HttpFront front{.intake = core.intake,
                  .live_calls = core.live_calls,
                  .wall_clock = environment_.wall_clock,
                  .stream_buffer_tokens = core.stream_buffer_tokens,
                  .answer_bytes_max = core.message_bytes_max,
                  .chat_prompter = core.chat_prompter};
  front.started = front.seconds_now();
  return front;
}

LiveFront App::live_front() const {
  return {.model = host_.served,
          .stats = core_->stats(),
          .recent = core_->recent(),
          .limits = core_->front().limits,
          .stall_timeout = std::chrono::milliseconds(config_.server.stall_timeout_ms),
          .block_size = config_.kv.block_size,
          .has_chat_template = host_.chat_template.ok()};
}

std::vector<HttpRoute> App::routes() {
  std::vector<HttpRoute> routes = http_api_.routes();
  std::ranges::move(live_page_.routes(), std::back_inserter(routes));
  std::ranges::move(observation_routes(), std::back_inserter(routes));
  return routes;
}

std::vector<HttpRoute> App::observation_routes() {
  return observability_routes({.scrape =
                                   [this] {
                                     const ServingCore* core = observed_.load();
                                     return core == nullptr ? std::string() : core->metrics().scrape();
                                   },
                               .health =
                                   [this] {
                                     const ServingCore* core = observed_.load();
                                     return core == nullptr ? Health() : core->health();
                                   },
                               .readiness = [this] { return readiness_.load(); }});
}

void App::log_start(TimePoint began) const {
  Logger& logger = environment_.logger;
  logger.info("configuration: " + effective_config_line(config_));
  logger.info("serving", {{"model", engine::sanitize_utf8(host_.served.name)},
                          {"device", host_.served.device},
                          {"context", std::to_string(host_.served.context_length)},
                          {"kv_blocks", std::to_string(host_.block_count)},
                          {"kv_mib", std::to_string(host_.pool_bytes >> 20)},
                          {"grpc", grpc_address().text()},
                          {"http", http_address().text()},
                          {"admin", admin_address().text()},
                          {"start_seconds", std::to_string(to_seconds(environment_.clock.now() - began))}});
}

std::string App::ready_line() const {
  const nlohmann::ordered_json line = {{"grpc", grpc_address().text()},   {"http", http_address().text()},
                                       {"admin", admin_address().text()}, {"model", host_.served.name},
                                       {"device", host_.served.device},   {"version", environment_.version}};
  // A model's name comes from its file, and need not be UTF-8.
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

void App::update() {
  health_teller_.tell(core_->health());
  if (!config_.security.has_tls() || tls_times(config_.security) == tls_times_) return;
  tls_times_ = tls_times(config_.security);
  reload_tls();
}

void App::reload_tls() {
  const Result<TlsContext> tls = load_tls(config_.security);
  if (!tls.ok()) {
    return environment_.logger.error("the TLS files stay as they were", {{"why", tls.status().message()}});
  }
  http_server_->set_tls(*tls);
  environment_.logger.info("read the TLS files again");
}

void App::reload() {
  if (config_.security.has_tls()) reload_tls();
  if (!access_->has_keys()) return environment_.logger.info("there are no API keys to read again");
  if (const Status status = access_->reload(); !status.ok()) {
    return environment_.logger.error("the API keys stay as they were", {{"why", status.message()}});
  }
  environment_.logger.info("read the API keys again", {{"keys", std::to_string(access_->key_count())}});
}

void App::drain() {
  environment_.logger.info("draining", {{"drain_timeout_ms", std::to_string(config_.server.drain_timeout_ms)}});
  readiness_.store(Readiness::kDraining);
  set_serving(false);
  const TimePoint deadline = environment_.clock.now() + std::chrono::milliseconds(config_.server.drain_timeout_ms);
  const bool complete = core_->drain(deadline, deadline + kLastWords);
  admin_server_->stop(kFlushPatience);
  grpc_server_->stop(kFlushPatience);
  http_server_->stop();
  environment_.logger.info("drained", {{"complete", complete ? "yes" : "no"}});
}

int run_app(const Config& config, std::string_view version) {
  SignalDesk desk;
  const SignalWatcher signals([&desk, count = 0](int signal) mutable {
    if (signal == SIGHUP) return desk.ask_reload();
    on_stop_signal(++count, desk);
  });
  const SteadyClock clock;
  Logger logger = error_logger(config);
  raise_open_file_limit();
  return serve(config,
               {clock, wall_clock, logger, random_seed(), random_secret(), std::string(version), error_terminal()},
               desk);
}

int run_model_check(const Config& config) {
  const SteadyClock clock;
  Logger logger = error_logger(config);
  const Result<std::string> summary = check_model(config, {clock, logger, error_terminal()});
  if (!summary.ok()) {
    std::fprintf(stderr, "sluiced: %s\n", summary.status().message().c_str());
    return 1;
  }
  std::fputs(summary->c_str(), stdout);
  return 0;
}

}  // namespace sluice::server
