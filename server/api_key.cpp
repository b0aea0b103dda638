#include "server/api_key.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <sodium.h>

#include "base/tenant_name.h"

namespace sluice::server {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kDigestMark = "sha256:";
constexpr size_t kKeyBytesMin = 16;
constexpr size_t kKeyBytesMax = 256;

/// One option of the form name=N.
struct NumberOption {
  std::string_view name;
  int32_t KeyLimits::*field;
  int32_t least;
  int32_t most;
};

constexpr NumberOption kNumberOptions[] = {
    {"requests", &KeyLimits::requests, 1, 1'000'000},
    {"max_tokens", &KeyLimits::max_tokens, 1, 1 << 24},
    {"priority", &KeyLimits::priority, -100, 100},
};

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlanks), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlanks));
  line.remove_prefix(word.size());
  return word;
}

std::optional<KeyDigest> digest_from_hex(std::string_view hex) {
  KeyDigest digest{};
  const char* end = nullptr;
  size_t length = 0;
  if (hex.size() != 2 * digest.size()) return std::nullopt;
  if (sodium_hex2bin(digest.data(), digest.size(), hex.data(), hex.size(), nullptr, &length, &end) != 0) {
    return std::nullopt;
  }
  if (length != digest.size() || end != hex.data() + hex.size()) return std::nullopt;
  return digest;
}

Result<KeyDigest> read_key(std::string_view word) {
  if (word.starts_with(kDigestMark)) {
    if (const auto digest = digest_from_hex(word.substr(kDigestMark.size()))) return *digest;
    return invalid_argument("sha256: must be followed by 64 hexadecimal digits");
  }
  const bool is_printable = std::ranges::all_of(word, [](char c) { return c > ' ' && c <= '~'; });
  if (!is_printable || word.size() < kKeyBytesMin || word.size() > kKeyBytesMax) {
    return invalid_argument("a key must be " + std::to_string(kKeyBytesMin) + " to " + std::to_string(kKeyBytesMax) +
                            " bytes of printable ASCII");
  }
  return digest_of(word);
}

Status read_number(const NumberOption& option, std::string_view text, KeyLimits& limits) {
  int32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stop != end || number < option.least || number > option.most) {
    return invalid_argument(std::string(option.name) + " must be a whole number from " + std::to_string(option.least) +
                            " to " + std::to_string(option.most));
  }
  limits.*option.field = number;
  return {};
}

Status read_option(std::string_view word, ApiKey& key) {
  if (word == "admin") {
    key.is_admin = true;
    return {};
  }
  const size_t equals = word.find('=');
  for (const NumberOption& option : kNumberOptions) {
    if (word.substr(0, equals) == option.name && equals != std::string_view::npos) {
      return read_number(option, word.substr(equals + 1), key.limits);
    }
  }
  return invalid_argument("after key and tenant come requests=N, max_tokens=N, priority=N and admin");
}

Result<ApiKey> read_line(std::string_view line) {
  ApiKey key;
  SLUICE_ASSIGN_OR_RETURN(key.digest, read_key(next_word(line)));
  const std::string_view tenant = next_word(line);
  if (tenant.empty()) return invalid_argument("a tenant must follow the key, or * for one that requests name");
  SLUICE_RETURN_IF_ERROR(check_tenant_name("the tenant", tenant));
  key.names_tenants = tenant == "*";
  if (!key.names_tenants) key.tenant = tenant;
  for (std::string_view word = next_word(line); !word.empty(); word = next_word(line)) {
    SLUICE_RETURN_IF_ERROR(read_option(word, key));
  }
  return key;
}

}  // namespace

KeyDigest digest_of(std::string_view key) {
  KeyDigest digest{};
  crypto_hash_sha256(digest.data(), reinterpret_cast<const unsigned char*>(key.data()), key.size());
  return digest;
}

Result<std::vector<ApiKey>> parse_api_keys(std::string_view text, const std::string& file) {
  std::vector<ApiKey> keys;
  for (size_t number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    const std::string place = file + ":" + std::to_string(number);
    Result<ApiKey> key = read_line(line);
    if (!key.ok()) return key.status().with_context(place);
    const auto is_same = [&](const ApiKey& other) { return other.digest == key->digest; };
    if (std::ranges::any_of(keys, is_same)) return invalid_argument(place + ": this key stands above already");
    keys.push_back(std::move(key).value());
  }
  if (keys.empty()) return invalid_argument(file + ": holds no key, so nobody could send a request");
  return keys;
}

}  // namespace sluice::server
