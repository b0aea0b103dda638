#pragma once

namespace sluice::server {

/// Lets this process open as many files as the system allows it at all: shells commonly begin with 1024, and each
/// connection is one. Quiet when it can't.
void raise_open_file_limit();

}  // namespace sluice::server
