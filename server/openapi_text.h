#pragma once

#include <string_view>

namespace sluice::server {

/// openapi.json, the description of the HTTP API; a part of the program.
std::string_view openapi_text();

}  // namespace sluice::server
