#include "client/identity.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <utility>

namespace sluice::client {
namespace {

Result<std::string> read_pem(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found("cannot read " + path + ": " + std::strerror(errno));
  return std::string(std::istreambuf_iterator<char>(file), {});
}

}  // namespace

Result<Identity> make_identity(std::string api_key, const std::optional<TlsFiles>& tls) {
  Identity identity;
  // Metadata can't carry anything else, and gRPC would end the process over it.
  if (!std::ranges::all_of(api_key, [](char c) { return c > ' ' && c <= '~'; })) {
    return invalid_argument("an API key is printable ASCII without blanks");
  }
  identity.api_key = std::move(api_key);
  if (!tls) return identity;
  if (tls->cert.empty() != tls->key.empty()) return invalid_argument("a client certificate goes with its private key");
  grpc::SslCredentialsOptions options;
  SLUICE_ASSIGN_OR_RETURN(options.pem_root_certs, read_pem(tls->ca));
  SLUICE_ASSIGN_OR_RETURN(options.pem_cert_chain, read_pem(tls->cert));
  SLUICE_ASSIGN_OR_RETURN(options.pem_private_key, read_pem(tls->key));
  identity.channel = grpc::SslCredentials(options);
  return identity;
}

}  // namespace sluice::client
