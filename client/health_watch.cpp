#include "client/health_watch.h"

#include <string>

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/impl/codegen/proto_utils.h>

#include "client/grpc_status.h"

namespace sluice::client {
namespace {

// grpc.health.v1 has no stubs among the installed libraries. Its request is one string with number 1, its response one
// enum with number 1: the same bytes as these well-known wrappers.
using HealthRequest = google::protobuf::StringValue;
using HealthResponse = google::protobuf::Int32Value;
using HealthStub = grpc::TemplatedGenericStub<HealthRequest, HealthResponse>;
constexpr int32_t kServing = 1;

/// Runs one asynchronous operation at a time, as if it blocked.
class OneAtATime {
 public:
  grpc::CompletionQueue* queue() { return &queue_; }
  /// Whether the operation just started went well.
  bool wait() {
    void* tag = nullptr;
    bool ok = false;
    return queue_.Next(&tag, &ok) && ok;
  }

 private:
  grpc::CompletionQueue queue_;
};

}  // namespace

Status watch_until_serving(const std::shared_ptr<grpc::Channel>& channel, grpc::ClientContext& context) {
  OneAtATime operation;
  HealthStub stub(channel);
  const auto stream = stub.PrepareCall(&context, "/grpc.health.v1.Health/Watch", operation.queue());
  HealthResponse health;
  stream->StartCall(nullptr);
  bool is_open = operation.wait();
  if (is_open) {
    stream->WriteLast(HealthRequest(), grpc::WriteOptions(), nullptr);
    is_open = operation.wait();
  }
  while (is_open && health.value() != kServing) {
    stream->Read(&health, nullptr);
    is_open = operation.wait();
  }
  if (health.value() == kServing) context.TryCancel();
  grpc::Status status;
  stream->Finish(&status, nullptr);
  operation.wait();
  if (health.value() == kServing) return {};
  if (status.ok()) return unavailable("the health watch ended before the daemon was ready");
  return to_status(status, context);
}

}  // namespace sluice::client
