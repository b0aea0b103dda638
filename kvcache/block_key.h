#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::kvcache {

/// Names what a full block holds together with all that comes before it in its sequence. Two contents have the same key
/// with probability 2^-128; nobody without the hasher's secret can look for such a pair. Never leaves the process.
struct BlockKey {
  uint64_t high = 0;
  uint64_t low = 0;
  friend bool operator==(const BlockKey&, const BlockKey&) = default;
};

/// Makes the keys of one model's blocks: a chain of keyed BLAKE2b hashes. Any number of threads.
class BlockHasher {
 public:
  static constexpr size_t kSecretBytesMin = 16;
  static constexpr size_t kSecretBytesMax = 64;

  /// `secret`: random bytes, drawn anew by each process; kSecretBytesMin .. kSecretBytesMax of them.
  BlockHasher(std::span<const std::byte> secret, std::string_view model_id);

  /// What the first blocks of sequences follow. Chains of different salts have no key in common.
  BlockKey root(std::string_view salt) const;
  /// The key of a full block of `tokens` after the block, or root, `parent`.
  BlockKey next(const BlockKey& parent, std::span<const int32_t> tokens) const;

 private:
  std::array<std::byte, 32> key_;  // of the secret and the model
};

/// The keys of all full blocks of `tokens`: [tokens.size() / block_size]. The partial block at the end has none.
std::vector<BlockKey> prompt_keys(const BlockHasher& hasher, std::string_view salt, std::span<const int32_t> tokens,
                                  int32_t block_size);

}  // namespace sluice::kvcache
