#pragma once

#include <cstddef>
#include <string>

#include "base/status.h"

namespace sluice::server {

/// All bytes of a file. NOT_FOUND when there is none, FAILED_PRECONDITION when it can't be read, isn't a regular file
/// or is longer than `bytes_max`; the message begins with the path.
Result<std::string> read_text_file(const std::string& path, size_t bytes_max);

}  // namespace sluice::server
