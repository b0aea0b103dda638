#pragma once

#include <filesystem>

#include "base/status.h"
#include "server/config.h"
#include "server/http_socket.h"

namespace sluice::server {

/// A context of the files that `security` names; null when it has no TLS. FAILED_PRECONDITION that names the key and
/// what is wrong with its file: missing, no PEM, a key that isn't the certificate's.
Result<TlsContext> load_tls(const SecuritySection& security);

/// When the files last changed; file_time_type::min() where there is none.
std::filesystem::file_time_type tls_changed(const SecuritySection& security);

}  // namespace sluice::server
