#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace sluice::engine {

/// The byte that a token named <0x00> to <0xFF> stands for; nullopt for any other name.
std::optional<uint8_t> byte_of_token_name(std::string_view name);

}  // namespace sluice::engine
