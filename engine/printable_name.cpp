#include "engine/printable_name.h"

namespace sluice::engine {

std::string printable_name(std::string_view name) {
  constexpr size_t kLengthMax = 80;
  std::string text(name.substr(0, kLengthMax));
  for (char& c : text) {
    if (c < 0x20 || c > 0x7e) c = '?';
  }
  return name.size() > kLengthMax ? text + "..." : text;
}

}  // namespace sluice::engine
