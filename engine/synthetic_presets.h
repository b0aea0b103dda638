#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sluice::engine {

/// The shape of a well-known model as its config.json has it; nullopt when no preset is called so.
std::optional<std::string_view> synthetic_preset(std::string_view name);

/// "a, b and c", for messages.
std::string synthetic_preset_names();

}  // namespace sluice::engine
