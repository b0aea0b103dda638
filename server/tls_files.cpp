#include "server/tls_files.h"

#include <algorithm>
#include <string>

namespace sluice::server {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

Status bad_file(std::string_view key, const std::string& path, const error_code& error) {
  return failed_precondition(std::string(key) + ": " + path + ": " + error.message()).with_field(std::string(key));
}

}  // namespace

Result<TlsContext> load_tls(const SecuritySection& security) {
  if (!security.has_tls()) return TlsContext();
  auto context = std::make_shared<ssl::context>(ssl::context::tls_server);
  error_code error;
  // RFC 8996: what is older than TLS 1.2 is not to be used. tls_server takes no SSL.
  context->set_options(ssl::context::default_workarounds | ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1, error);
  context->use_certificate_chain_file(security.tls_cert_path, error);
  if (error) return bad_file("security.tls_cert_path", security.tls_cert_path, error);
  // OpenSSL compares it with the certificate.
  context->use_private_key_file(security.tls_key_path, ssl::context::pem, error);
  if (error) return bad_file("security.tls_key_path", security.tls_key_path, error);
  if (!security.tls_client_ca_path.empty()) {
    context->load_verify_file(security.tls_client_ca_path, error);
    if (error) return bad_file("security.tls_client_ca_path", security.tls_client_ca_path, error);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert, error);
  }
  return context;
}

std::filesystem::file_time_type tls_changed(const SecuritySection& security) {
  auto latest = std::filesystem::file_time_type::min();  // whose epoch lies in the future
  for (const std::string& path : {security.tls_cert_path, security.tls_key_path, security.tls_client_ca_path}) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    if (!error) latest = std::max(latest, time);
  }
  return latest;
}

}  // namespace sluice::server
