#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

class GgufFile;

enum class GgufTokenKind : uint8_t {
  kWord,     ///< made from text by merges
  kByte,     ///< one byte
  kAdded,    ///< found in text by its name before any merging; ordinary text otherwise
  kSpecial,  ///< found by its name only where names of special tokens are parsed
  kUnused,   ///< never made from text
};

/// The tokens of a GGUF file, checked: kinds and named ids are those of tokens, names are UTF-8, and no two tokens in
/// use have one name. Names point into the file.
struct GgufVocabulary {
  std::vector<std::string_view> names;                       // [vocab_size] by id
  std::vector<GgufTokenKind> kinds;                          // [vocab_size]
  std::unordered_map<std::string_view, int32_t> id_of_name;  // all but unused tokens
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
  std::optional<int32_t> unknown_id;
  std::vector<int32_t> end_ids;  ///< ascending, see Tokenizer::end_ids
  std::optional<bool> adds_bos;  ///< what the file says, if it does; never true without a bos
  bool adds_eos = false;         ///< never true without an eos

  /// Errors name the file and the key at fault.
  static Result<GgufVocabulary> read(const GgufFile& file);

  GgufTokenKind kind(int32_t id) const { return kinds[static_cast<size_t>(id)]; }
  /// The token of that name, if text may become it by merges.
  std::optional<int32_t> mergeable_id(std::string_view name) const;
};

/// `FILE: metadata KEY problem`
Status gguf_fault(const GgufFile& file, std::string_view key, std::string_view problem);
/// `FILE: metadata KEY[index] "name" problem`
Status gguf_fault_at(const GgufFile& file, std::string_view key, size_t index, std::string_view name,
                     std::string_view problem);

/// A metadata array that has to be there; T is int64_t, double or std::string_view, and `wanted` says so in words.
template <typename T>
Result<const std::vector<T>*> gguf_array(const GgufFile& file, std::string_view key, std::string_view wanted);

constexpr std::string_view kGgufTokensKey = "tokenizer.ggml.tokens";

}  // namespace sluice::engine
