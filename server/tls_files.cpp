#include "server/tls_files.h"

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
    // Sessions with client certificates can be resumed only where they name what they belong to.
    constexpr unsigned char kName[] = {'s', 'l', 'u', 'i', 'c', 'e'};
    SSL_CTX_set_session_id_context(context->native_handle(), kName, sizeof(kName));
  }
  return context;
}

TlsTimes tls_times(const SecuritySection& security) {
  const auto time_of = [](const std::string& path) {
    std::error_code error;
    const auto time = std::filesystem::last_write_time(path, error);
    return error ? std::filesystem::file_time_type::min() : time;
  };
  return {time_of(security.tls_cert_path), time_of(security.tls_key_path), time_of(security.tls_client_ca_path)};
}

}  // namespace sluice::server
