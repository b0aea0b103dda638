#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sluice::server {

/// The candidate that `word` is most likely a misspelling of: the fewest letters added, removed or replaced, at most
/// two or a third of the word. Empty when none is near. The first of equals wins.
std::string nearest_name(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace sluice::server
