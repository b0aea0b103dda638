#pragma once

#include <string>
#include <string_view>

namespace sluice::engine {

/// A name from a file, made fit for a one-line message: control and non-ASCII bytes become '?', long names are cut.
std::string printable_name(std::string_view name);

}  // namespace sluice::engine
