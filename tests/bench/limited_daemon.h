#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include <grpcpp/server.h>

#include "base/mutex.h"
#include "sluice/v1/control.pb.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::test_support {

/// A daemon that only pretends: it answers at once as long as no more may run than it likes, and then slowly. Its
/// limits are set like a real one's, on a listener of their own, which can be shut and opened again.
class LimitedDaemon {
 public:
  static constexpr int32_t kMaxRunning = 16;
  static constexpr int32_t kTokensPerStep = 64;
  /// With more than so many rows a first token takes kSlow, else hardly any time.
  static constexpr int32_t kRowsLiked = 8;
  static constexpr std::chrono::milliseconds kSlow{400};

  LimitedDaemon();
  ~LimitedDaemon();

  std::string address() const { return inference_->address(); }
  std::string admin_address() const { return "unix:" + socket_path_; }
  v1::Limits limits() const;
  /// How often they were set.
  int changes() const { return changes_; }
  /// Blocks until they were set at least so often.
  void wait_for_changes(int count);

  void shut_admin();
  void open_admin();
  /// The next so many changes are UNAVAILABLE.
  void refuse_changes(int count) { refusals_ = count; }
  /// From now on all requests fail.
  void break_inference() { is_broken_ = true; }

 private:
  class Control;

  grpc::Status answer(const v1::CompleteRequest& request, EventWriter& writer);
  grpc::Status set(const v1::Limits& wanted, v1::Limits& now);

  std::string socket_path_;
  mutable Mutex mutex_;
  CondVar changed_;
  v1::Limits limits_ SLUICE_GUARDED_BY(mutex_);
  std::atomic<int> changes_ = 0;
  std::atomic<int> refusals_ = 0;
  std::atomic<bool> is_broken_ = false;
  Gate never_;
  std::unique_ptr<Control> control_;
  std::unique_ptr<grpc::Server> admin_;
  std::unique_ptr<ScriptedServer> inference_;
};

}  // namespace sluice::test_support
