#include "engine/byte_token.h"

#include <charconv>
#include <system_error>

namespace sluice::engine {

std::optional<uint8_t> byte_of_token_name(std::string_view name) {
  constexpr size_t kSize = 6;
  if (name.size() != kSize || !name.starts_with("<0x") || name.back() != '>') return std::nullopt;
  const char* const end = name.data() + kSize - 1;
  uint8_t byte = 0;
  const std::from_chars_result parsed = std::from_chars(name.data() + 3, end, byte, 16);
  if (parsed.ec != std::errc() || parsed.ptr != end) return std::nullopt;
  return byte;
}

}  // namespace sluice::engine
