#pragma once

#include <array>
#include <filesystem>

#include "base/http_socket.h"
#include "base/status.h"
#include "server/config.h"

namespace sluice::server {

/// A context of the files that `security` names; null when it has no TLS. FAILED_PRECONDITION that names the key and
/// what is wrong with its file: missing, no PEM, a key that isn't the certificate's.
Result<TlsContext> load_tls(const SecuritySection& security);

/// When each of the files was last changed. A file may be replaced by an older one, so any difference is a change.
using TlsTimes = std::array<std::filesystem::file_time_type, 3>;
TlsTimes tls_times(const SecuritySection& security);

}  // namespace sluice::server
