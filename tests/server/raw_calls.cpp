#include "tests/server/raw_calls.h"

#include <future>
#include <vector>

#include <grpcpp/completion_queue.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>

namespace sluice::server {

namespace {

grpc::ByteBuffer to_buffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return {&slice, 1};
}

std::string to_string(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return {};
  std::string bytes;
  for (const grpc::Slice& slice : slices) bytes.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return bytes;
}

/// Waits for the queue's next operation; true when it succeeded.
bool next_ok(grpc::CompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  return queue.Next(&tag, &ok) && ok;
}

}  // namespace

RawAnswer call_with_bytes(const std::shared_ptr<grpc::Channel>& channel, const std::string& method,
                          const std::string& request) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  const grpc::ByteBuffer request_buffer = to_buffer(request);
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, method, {}, &request_buffer, &response,
                 [&done](grpc::Status status) { done.set_value(std::move(status)); });
  const grpc::Status status = done.get_future().get();
  return {status, to_string(response)};
}

int health_status(const std::shared_ptr<grpc::Channel>& channel, const std::string& service) {
  // HealthCheckRequest.service is field 1.
  const std::string request = std::string("\x0a") + static_cast<char>(service.size()) + service;
  const RawAnswer answer = call_with_bytes(channel, "/grpc.health.v1.Health/Check", request);
  if (!answer.status.ok()) return -1;
  // HealthCheckResponse.status is field 1.
  return answer.bytes.size() == 2 && answer.bytes[0] == '\x08' ? answer.bytes[1] : -1;
}

std::string reflected_services(const std::shared_ptr<grpc::Channel>& channel) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::CompletionQueue queue;
  const auto call =
      stub.PrepareCall(&context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo", &queue);
  grpc::ByteBuffer response;
  call->StartCall(nullptr);
  bool ok = next_ok(queue);
  // ServerReflectionRequest.list_services is field 7.
  call->Write(to_buffer(std::string("\x3a\x01*")), nullptr);
  ok = ok && next_ok(queue);
  call->Read(&response, nullptr);
  ok = ok && next_ok(queue);
  context.TryCancel();
  grpc::Status status;
  call->Finish(&status, nullptr);
  next_ok(queue);
  queue.Shutdown();
  return ok ? to_string(response) : std::string();
}

}  // namespace sluice::server
