#include "kvcache/block_key.h"

#include <type_traits>

#include <sodium.h>

#include "base/check.h"

namespace sluice::kvcache {
namespace {

/// What a hash is of. Comes first in it, so that no salt hashes like a block.
enum class Subject : unsigned char { kModel, kRoot, kBlock };

/// One keyed BLAKE2b (RFC 7693) of several runs of bytes, of which the last alone may vary in length.
class Hash {
 public:
  Hash(std::span<const std::byte> key, size_t output_bytes, Subject subject) : output_bytes_(output_bytes) {
    SLUICE_CHECK(crypto_generichash_init(&state_, as_bytes(key.data()), key.size(), output_bytes) == 0);
    add(&subject, sizeof subject);
  }

  Hash& add(const void* bytes, size_t count) {
    SLUICE_CHECK(crypto_generichash_update(&state_, static_cast<const unsigned char*>(bytes), count) == 0);
    return *this;
  }

  void finish(void* output) {
    SLUICE_CHECK(crypto_generichash_final(&state_, static_cast<unsigned char*>(output), output_bytes_) == 0);
  }

 private:
  static const unsigned char* as_bytes(const std::byte* bytes) { return reinterpret_cast<const unsigned char*>(bytes); }

  crypto_generichash_state state_;
  size_t output_bytes_;
};

static_assert(std::has_unique_object_representations_v<BlockKey>);
static_assert(sizeof(BlockKey) >= crypto_generichash_BYTES_MIN);
static_assert(BlockHasher::kSecretBytesMin >= crypto_generichash_KEYBYTES_MIN);
static_assert(BlockHasher::kSecretBytesMax <= crypto_generichash_KEYBYTES_MAX);

}  // namespace

BlockHasher::BlockHasher(std::span<const std::byte> secret, std::string_view model_id) {
  SLUICE_CHECK(secret.size() >= kSecretBytesMin);
  SLUICE_CHECK(secret.size() <= kSecretBytesMax);
  SLUICE_CHECK(sodium_init() >= 0);  // any number of times, from any thread
  Hash(secret, key_.size(), Subject::kModel).add(model_id.data(), model_id.size()).finish(key_.data());
}

BlockKey BlockHasher::root(std::string_view salt) const {
  BlockKey key;
  Hash(key_, sizeof key, Subject::kRoot).add(salt.data(), salt.size()).finish(&key);
  return key;
}

BlockKey BlockHasher::next(const BlockKey& parent, std::span<const int32_t> tokens) const {
  BlockKey key;
  Hash(key_, sizeof key, Subject::kBlock)
      .add(&parent, sizeof parent)
      .add(tokens.data(), tokens.size_bytes())
      .finish(&key);
  return key;
}

std::vector<BlockKey> prompt_keys(const BlockHasher& hasher, std::string_view salt, std::span<const int32_t> tokens,
                                  int32_t block_size) {
  SLUICE_CHECK(block_size >= 1);
  const auto block_tokens = static_cast<size_t>(block_size);
  std::vector<BlockKey> keys;
  keys.reserve(tokens.size() / block_tokens);
  BlockKey parent = hasher.root(salt);
  for (; tokens.size() >= block_tokens; tokens = tokens.subspan(block_tokens)) {
    parent = hasher.next(parent, tokens.first(block_tokens));
    keys.push_back(parent);
  }
  return keys;
}

}  // namespace sluice::kvcache
