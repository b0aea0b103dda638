#include "server/grpc_options.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

namespace sluice::server {
namespace {

constexpr unsigned kTlsRefreshSeconds = 10;

std::shared_ptr<grpc::ServerCredentials> credentials_of(const SecuritySection& security) {
  if (!security.has_tls()) return grpc::InsecureServerCredentials();
  namespace tls = grpc::experimental;
  const auto files = std::make_shared<tls::FileWatcherCertificateProvider>(
      security.tls_key_path, security.tls_cert_path, security.tls_client_ca_path, kTlsRefreshSeconds);
  tls::TlsServerCredentialsOptions options(files);
  options.watch_identity_key_cert_pairs();
  if (!security.tls_client_ca_path.empty()) {
    options.watch_root_certs();
    options.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(options);
}

}  // namespace

GrpcOptions grpc_options(const Config& config) {
  return {.message_mib = config.server.max_message_mib,
          .streams = config.server.grpc_max_streams,
          .idle_timeout = std::chrono::milliseconds(config.server.grpc_idle_timeout_ms),
          .credentials = credentials_of(config.security)};
}

}  // namespace sluice::server
