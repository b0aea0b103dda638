#include "engine/bpe_vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>

#include "engine/bpe_alphabet.h"
#include "engine/gguf.h"
#include "engine/gguf_parser.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kTokensKey = "tokenizer.ggml.tokens";
constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kMergesKey = "tokenizer.ggml.merges";
constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";

constexpr std::array<std::string_view, 3> kEndKeys = {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id",
                                                      "tokenizer.ggml.eom_token_id"};

// Files often name one end token and leave out the one that ends a turn, or the other way round.
constexpr std::array<std::string_view, 6> kEndNames = {
    "<|endoftext|>",    // GPT-2, Qwen2, SmolLM2: end of a document
    "<|im_end|>",       // ChatML: end of a turn
    "<|end_of_text|>",  // Llama 3: end of a document
    "<|eot_id|>",       // Llama 3: end of a turn
    "<|eom_id|>",       // Llama 3: end of a message that calls a tool
    "<|end|>",          // Phi 3: end of a turn
};

// Of the GGUF format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
std::optional<BpeTokenKind> kind_of_gguf_type(int64_t type) {
  switch (type) {
    case 1:  // normal
    case 6:  // byte
      return BpeTokenKind::kWord;
    case 2:  // unknown
    case 3:  // control
      return BpeTokenKind::kSpecial;
    case 4:  // user defined
      return BpeTokenKind::kAdded;
    case 5:  // unused
      return BpeTokenKind::kUnused;
    default:
      return std::nullopt;
  }
}

uint64_t pair_key(int32_t left, int32_t right) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U) | static_cast<uint32_t>(right);
}

class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file) {}

  Result<BpeVocabulary> read() {
    SLUICE_RETURN_IF_ERROR(read_names());
    SLUICE_RETURN_IF_ERROR(read_kinds());
    SLUICE_RETURN_IF_ERROR(read_named_ids());
    SLUICE_RETURN_IF_ERROR(index_names());
    spell_words();
    find_byte_tokens();
    SLUICE_RETURN_IF_ERROR(read_merges());
    find_end_tokens();
    return std::move(vocabulary_);
  }

 private:
  Status fault(std::string_view key, std::string_view problem) const {
    return invalid_argument(file_.path() + ": metadata " + std::string(key) + " " + std::string(problem));
  }

  /// `metadata key[index] "name" problem`
  Status fault_at(std::string_view key, size_t index, std::string_view name, std::string_view problem) const {
    return fault(std::string(key) + "[" + std::to_string(index) + "]",
                 "\"" + printable_name(name) + "\" " + std::string(problem));
  }

  template <typename T>
  Result<const std::vector<T>*> array_of(std::string_view key, std::string_view wanted) const {
    const GgufValue* const value = file_.find(key);
    if (value == nullptr) return fault(key, "is missing");
    const auto* const array = std::get_if<GgufArray>(value);
    const auto* const elements = array == nullptr ? nullptr : std::get_if<std::vector<T>>(array);
    if (elements == nullptr) return fault(key, "is not an array of " + std::string(wanted));
    return elements;
  }

  Status read_names() {
    SLUICE_ASSIGN_OR_RETURN(names_, array_of<std::string_view>(kTokensKey, "strings"));
    if (names_->empty()) return fault(kTokensKey, "is empty");
    if (names_->size() > std::numeric_limits<int32_t>::max()) return fault(kTokensKey, "has too many tokens");
    vocabulary_.tokens.resize(names_->size());
    return {};
  }

  Status read_kinds() {
    if (file_.find(kTypesKey) == nullptr) return {};  // all are words, but for those that other keys name
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t>* const types, array_of<int64_t>(kTypesKey, "whole numbers"));
    if (types->size() != names_->size()) {
      return fault(kTypesKey, "has " + std::to_string(types->size()) + " elements for " +
                                  std::to_string(names_->size()) + " tokens");
    }
    for (size_t id = 0; id < types->size(); ++id) {
      const std::optional<BpeTokenKind> kind = kind_of_gguf_type((*types)[id]);
      if (!kind) return fault(kTypesKey, "has the unknown type " + std::to_string((*types)[id]));
      vocabulary_.tokens[id].kind = *kind;
    }
    return {};
  }

  /// A token that has a role is special, whatever type older converters gave it.
  Result<std::optional<int32_t>> read_special_id(std::string_view key) {
    if (file_.find(key) == nullptr) return std::optional<int32_t>();
    SLUICE_ASSIGN_OR_RETURN(const int64_t id, file_.get_int(key));
    if (id < 0 || id >= static_cast<int64_t>(names_->size())) {
      return fault(key, "is " + std::to_string(id) + ", outside the " + std::to_string(names_->size()) + " tokens");
    }
    vocabulary_.tokens[static_cast<size_t>(id)].kind = BpeTokenKind::kSpecial;
    return std::optional<int32_t>(static_cast<int32_t>(id));
  }

  Status read_named_ids() {
    SLUICE_ASSIGN_OR_RETURN(vocabulary_.bos_id, read_special_id(kBosKey));
    for (const std::string_view key : kEndKeys) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<int32_t> id, read_special_id(key));
      if (id) vocabulary_.end_ids.push_back(*id);
    }
    if (file_.find(kAddBosKey) == nullptr) return {};
    SLUICE_ASSIGN_OR_RETURN(const bool adds_bos, file_.get_bool_or(kAddBosKey, false));
    if (adds_bos && !vocabulary_.bos_id) return fault(kAddBosKey, "is true, but there is no " + std::string(kBosKey));
    vocabulary_.adds_bos = adds_bos;
    return {};
  }

  Status index_names() {
    id_of_name_.reserve(names_->size());
    for (size_t id = 0; id < names_->size(); ++id) {
      const std::string_view name = (*names_)[id];
      if (!is_valid_utf8(name)) return fault_at(kTokensKey, id, name, "is not UTF-8");
      if (vocabulary_.tokens[id].kind == BpeTokenKind::kUnused) continue;
      if (name.empty()) return fault_at(kTokensKey, id, name, "is empty");
      const bool is_new = id_of_name_.emplace(name, static_cast<int32_t>(id)).second;
      if (!is_new) return fault_at(kTokensKey, id, name, "is there twice");
    }
    return {};
  }

  void spell_words() {
    for (size_t id = 0; id < names_->size(); ++id) {
      BpeToken& token = vocabulary_.tokens[id];
      std::optional<std::string> bytes;
      if (token.kind == BpeTokenKind::kWord) {
        bytes = bytes_of_spelling((*names_)[id]);
        // No bytes are spelled like this, so no text leads here; it reads as its name, as in Hugging Face's decoder.
        if (!bytes) token.kind = BpeTokenKind::kUnused;
      }
      token.bytes = bytes ? *std::move(bytes) : std::string((*names_)[id]);
    }
  }

  bool is_made_by_merges(int32_t id) const {
    const BpeTokenKind kind = vocabulary_.tokens[static_cast<size_t>(id)].kind;
    return kind == BpeTokenKind::kWord || kind == BpeTokenKind::kAdded;
  }

  std::optional<int32_t> mergeable_id(std::string_view name) const {
    const auto entry = id_of_name_.find(name);
    if (entry == id_of_name_.end() || !is_made_by_merges(entry->second)) return std::nullopt;
    return entry->second;
  }

  void find_byte_tokens() {
    vocabulary_.byte_ids.resize(256);
    for (size_t byte = 0; byte < 256; ++byte) {
      vocabulary_.byte_ids[byte] = mergeable_id(spell_byte(static_cast<uint8_t>(byte)));
    }
  }

  Result<BpeMerge> parse_merge(size_t rank, std::string_view merge) const {
    const size_t blank = merge.find(' ');
    if (blank == std::string_view::npos || merge.find(' ', blank + 1) != std::string_view::npos) {
      return fault_at(kMergesKey, rank, merge, "is not two tokens with a blank between them");
    }
    const std::string_view left = merge.substr(0, blank);
    const std::string_view right = merge.substr(blank + 1);
    std::array<int32_t, 3> ids{};
    const std::array<std::string, 3> names = {std::string(left), std::string(right),
                                              std::string(left) + std::string(right)};
    for (size_t i = 0; i < names.size(); ++i) {
      const std::optional<int32_t> id = mergeable_id(names[i]);
      if (!id) {
        return fault_at(kMergesKey, rank, merge,
                        "names \"" + printable_name(names[i]) + "\", which is no ordinary token");
      }
      ids[i] = *id;
    }
    return BpeMerge{.left = ids[0], .right = ids[1], .merged = ids[2]};
  }

  Status read_merges() {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string_view>* const merges,
                            array_of<std::string_view>(kMergesKey, "strings"));
    if (merges->size() > std::numeric_limits<int32_t>::max()) return fault(kMergesKey, "has too many merges");
    std::unordered_set<uint64_t> pairs;
    pairs.reserve(merges->size());
    vocabulary_.merges.reserve(merges->size());
    for (size_t rank = 0; rank < merges->size(); ++rank) {
      SLUICE_ASSIGN_OR_RETURN(const BpeMerge merge, parse_merge(rank, (*merges)[rank]));
      const bool is_new = pairs.insert(pair_key(merge.left, merge.right)).second;
      if (!is_new) return fault_at(kMergesKey, rank, (*merges)[rank], "is there twice");
      vocabulary_.merges.push_back(merge);
    }
    return {};
  }

  void find_end_tokens() {
    std::vector<int32_t>& ids = vocabulary_.end_ids;
    for (const std::string_view name : kEndNames) {
      const auto entry = id_of_name_.find(name);
      if (entry == id_of_name_.end()) continue;
      if (vocabulary_.tokens[static_cast<size_t>(entry->second)].kind == BpeTokenKind::kSpecial)
        ids.push_back(entry->second);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }

  const GgufFile& file_;
  const std::vector<std::string_view>* names_ = nullptr;
  std::unordered_map<std::string_view, int32_t> id_of_name_;  // all but unused tokens
  BpeVocabulary vocabulary_;
};

}  // namespace

Result<BpeVocabulary> BpeVocabulary::from_gguf(const GgufFile& file) {
  return Reader(file).read();
}

}  // namespace sluice::engine
