#include "kvcache/pool_size.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include "base/check.h"

namespace sluice::kvcache {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

/// The number that is all of `text`, or nullopt.
template <typename Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return number;
}

Status bad_memory(std::string_view text) {
  return invalid_field("kv.memory",
                       "is \"" + std::string(text) +
                           "\"; give auto, whole bytes, \"512MiB\", \"2GiB\" or a share of the free memory as \"25%\"");
}

Result<int64_t> parse_share(std::string_view text, std::string_view number, int64_t available_bytes) {
  const std::optional<double> percent = parse_number<double>(number);
  // Written so that NaN fails too.
  if (!percent || !(*percent > 0 && *percent <= 100)) return bad_memory(text);
  return static_cast<int64_t>(static_cast<double>(available_bytes) * (*percent / 100));
}

Result<int64_t> parse_amount(std::string_view text, std::string_view number, int64_t unit) {
  const std::optional<int64_t> count = parse_number<int64_t>(number);
  if (!count || *count < 0 || *count > std::numeric_limits<int64_t>::max() / unit) return bad_memory(text);
  return *count * unit;
}

}  // namespace

Result<int64_t> parse_memory(std::string_view text, int64_t available_bytes) {
  const auto without = [&](std::string_view suffix) { return text.substr(0, text.size() - suffix.size()); };
  if (text.ends_with("%")) return parse_share(text, without("%"), available_bytes);
  if (text.ends_with("MiB")) return parse_amount(text, without("MiB"), kMiB);
  if (text.ends_with("GiB")) return parse_amount(text, without("GiB"), kGiB);
  return parse_amount(text, text, 1);
}

Result<int32_t> block_count_for(const engine::KvLayout& layout, int64_t bytes, int32_t block_count_min) {
  const int64_t block_bytes = layout.block_bytes();
  SLUICE_CHECK(block_bytes > 0);
  const int64_t fitting = bytes / block_bytes;
  const int64_t needed = int64_t{block_count_min} * layout.groups.count();
  if (fitting < needed) {
    return invalid_field("kv.memory", "of " + std::to_string(bytes) + " bytes holds " + std::to_string(fitting) +
                                          " KV blocks of " + std::to_string(block_bytes) + " bytes and at least " +
                                          std::to_string(needed) + " are needed; set it to " +
                                          std::to_string(block_bytes * needed) + " bytes or more");
  }
  const int64_t addressable = std::numeric_limits<int32_t>::max() / layout.block_size;
  return static_cast<int32_t>(std::min(fitting, addressable));
}

}  // namespace sluice::kvcache
