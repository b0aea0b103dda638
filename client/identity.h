#pragma once

#include <memory>
#include <optional>
#include <string>

#include <grpcpp/security/credentials.h>

#include "base/status.h"

namespace sluice::client {

/// PEM files for TLS; empty where there is none.
struct TlsFiles {
  std::string ca;    ///< whose daemons are trusted; else those the machine trusts
  std::string cert;  ///< the client's own certificate, and
  std::string key;   ///< its private key
};

/// Who the client is to a daemon, and how it speaks with it.
struct Identity {
  std::string api_key;                                                                     ///< empty: none is sent
  std::shared_ptr<grpc::ChannelCredentials> channel = grpc::InsecureChannelCredentials();  ///< not null
};

/// An identity that speaks TLS when there are `tls` files, which may all be empty. NOT_FOUND names a file that can't be
/// read; INVALID_ARGUMENT when a certificate comes without its key or the key without it, or when the API key is not
/// printable ASCII.
Result<Identity> make_identity(std::string api_key, const std::optional<TlsFiles>& tls);

}  // namespace sluice::client
