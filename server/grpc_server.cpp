#include "server/grpc_server.h"

#include <cstdlib>
#include <utility>

#include <google/protobuf/stubs/logging.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

namespace sluice::server {

namespace {

constexpr int kMebibyte = 1 << 20;
constexpr int kMetadataBytesMax = 16 << 10;
/// Reflection is a synchronous service in this gRPC; everything else is callbacks on gRPC's own few threads.
constexpr int kSyncThreadsMax = 4;

void set_limits(grpc::ServerBuilder& builder, const GrpcOptions& options) {
  builder.SetMaxReceiveMessageSize(options.message_mib * kMebibyte);
  builder.SetMaxSendMessageSize(options.message_mib * kMebibyte);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, options.streams);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMetadataBytesMax);
  const auto idle = std::chrono::duration_cast<std::chrono::milliseconds>(options.idle_timeout);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, static_cast<int>(idle.count()));
  builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
  builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
  grpc::ResourceQuota quota("sluice");
  quota.SetMaxThreads(kSyncThreadsMax);
  builder.SetResourceQuota(quota);
  // gRPC would share a busy port between two daemons, and each would get some of the clients.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
}

/// Clients may ping every 10 s, also between calls; a client that vanished without a word is noticed within 50 s.
void set_keepalive(grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 20'000);
}

/// gRPC tells of a busy port in its own words on stderr, before we can say it in one line that helps; protobuf tells of
/// every string that is not UTF-8, which is the client's business.
void silence_library_log() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_function([](gpr_log_func_args*) {});
  google::protobuf::SetLogHandler(nullptr);
}

gpr_timespec after(Duration patience) {
  return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_nanos(patience.count(), GPR_TIMESPAN));
}

}  // namespace

Result<std::unique_ptr<GrpcServer>> GrpcServer::start(const ListenAddress& address, const ListenOption& option,
                                                      const GrpcOptions& options,
                                                      std::initializer_list<GrpcServed> services) {
  silence_library_log();
  grpc::EnableDefaultHealthCheckService(true);
  grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  grpc::ServerBuilder builder;
  set_limits(builder, options);
  set_keepalive(builder);
  for (const GrpcServed& served : services) builder.RegisterService(&served.service);
  int port = 0;
  builder.AddListeningPort(address.text(), options.credentials, &port);
  std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr || port == 0) {
    // gRPC doesn't tell which.
    return cannot_listen(address, option, "the port is in use by another program, or this machine has no such address");
  }
  ListenAddress bound{address.host, static_cast<uint16_t>(port)};
  std::vector<std::string> names = {""};
  for (const GrpcServed& served : services) names.push_back(served.name);
  auto started = std::unique_ptr<GrpcServer>(new GrpcServer(std::move(bound), std::move(names), std::move(server)));
  started->set_serving(false);
  return started;
}

GrpcServer::GrpcServer(ListenAddress address, std::vector<std::string> health_names,
                       std::unique_ptr<grpc::Server> server)
    : address_(std::move(address)), health_names_(std::move(health_names)), server_(std::move(server)) {}

GrpcServer::~GrpcServer() {
  stop(Duration{});
}

void GrpcServer::set_serving(bool serving) {
  grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
  for (const std::string& name : health_names_) health->SetServingStatus(name, serving);
}

void GrpcServer::stop(Duration patience) {
  if (std::exchange(is_stopped_, true)) return;
  server_->Shutdown(after(patience));
  server_->Wait();
}

}  // namespace sluice::server
