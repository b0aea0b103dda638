#include "tests/bench/limited_daemon.h"

#include <filesystem>

#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <unistd.h>

#include "base/check.h"
#include "sluice/v1/control.grpc.pb.h"

namespace sluice::test_support {

class LimitedDaemon::Control final : public v1::Control::Service {
 public:
  explicit Control(LimitedDaemon& daemon) : daemon_(daemon) {}

  grpc::Status GetLimits(grpc::ServerContext*, const v1::GetLimitsRequest*, v1::Limits* limits) override {
    *limits = daemon_.limits();
    return grpc::Status::OK;
  }
  grpc::Status SetLimits(grpc::ServerContext*, const v1::Limits* wanted, v1::Limits* now) override {
    return daemon_.set(*wanted, *now);
  }

 private:
  LimitedDaemon& daemon_;
};

LimitedDaemon::LimitedDaemon() : control_(std::make_unique<Control>(*this)) {
  static std::atomic<int> count = 0;
  socket_path_ = (std::filesystem::temp_directory_path() /
                  ("sluice_admin_" + std::to_string(getpid()) + "_" + std::to_string(count++)))
                     .string();
  limits_.set_max_running(kMaxRunning);
  limits_.set_tokens_per_step(kTokensPerStep);
  limits_.set_tpot_target_ms(0);
  limits_.set_admission("adaptive");
  open_admin();
  inference_ = std::make_unique<ScriptedServer>(
      Script{.stream_complete = [this](auto&, const v1::CompleteRequest& request,
                                       EventWriter& writer) { return answer(request, writer); },
             .get_model = small_model,
             .get_load =
                 [this](v1::GetLoadResponse& load) {
                   load.set_blocks_total(100);
                   load.set_blocks_used(limits().max_running());
                   load.set_blocks_reserved(2 * limits().max_running());
                   load.set_running_sequences(limits().max_running());
                   return grpc::Status::OK;
                 }});
}

LimitedDaemon::~LimitedDaemon() {
  never_.open();
  inference_.reset();
  shut_admin();
}

v1::Limits LimitedDaemon::limits() const {
  const MutexLock lock(mutex_);
  return limits_;
}

void LimitedDaemon::wait_for_changes(int count) {
  const MutexLock lock(mutex_);
  while (changes_ < count) changed_.wait(mutex_);
}

void LimitedDaemon::open_admin() {
  grpc::EnableDefaultHealthCheckService(true);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket_path_, grpc::InsecureServerCredentials());
  builder.RegisterService(control_.get());
  admin_ = builder.BuildAndStart();
  SLUICE_CHECK(admin_ != nullptr);
}

void LimitedDaemon::shut_admin() {
  if (admin_) admin_->Shutdown(std::chrono::system_clock::time_point::min());
  admin_.reset();
}

grpc::Status LimitedDaemon::set(const v1::Limits& wanted, v1::Limits& now) {
  if (refusals_ > 0) {
    --refusals_;
    return {grpc::StatusCode::UNAVAILABLE, "not now"};
  }
  if (wanted.max_running() > kMaxRunning) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "scheduler.max_running is too large"};
  }
  if (wanted.tokens_per_step() > kTokensPerStep) {
    return {grpc::StatusCode::INVALID_ARGUMENT, "scheduler.tokens_per_step is too large"};
  }
  const MutexLock lock(mutex_);
  limits_.MergeFrom(wanted);
  now = limits_;
  ++changes_;
  changed_.notify_all();
  return grpc::Status::OK;
}

grpc::Status LimitedDaemon::answer(const v1::CompleteRequest& request, EventWriter& writer) {
  if (is_broken_) return {grpc::StatusCode::INTERNAL, "broken"};
  const bool is_slow = limits().max_running() > kRowsLiked;
  const std::chrono::milliseconds takes = is_slow ? kSlow : std::chrono::milliseconds(4);
  writer.Write(prompt_info_event(request.token_ids().ids_size()));
  never_.wait_until(std::chrono::steady_clock::now() + takes);
  return answer_at_once(request, writer);
}

}  // namespace sluice::test_support
