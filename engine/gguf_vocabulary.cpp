#include "engine/gguf_vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>
#include <variant>

#include "engine/end_token_names.h"
#include "engine/gguf.h"
#include "engine/printable_name.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

constexpr std::string_view kTypesKey = "tokenizer.ggml.token_type";
constexpr std::string_view kBosKey = "tokenizer.ggml.bos_token_id";
constexpr std::string_view kEosKey = "tokenizer.ggml.eos_token_id";
constexpr std::string_view kUnknownKey = "tokenizer.ggml.unknown_token_id";
constexpr std::string_view kAddBosKey = "tokenizer.ggml.add_bos_token";
constexpr std::string_view kAddEosKey = "tokenizer.ggml.add_eos_token";

constexpr std::array<std::string_view, 2> kFurtherEndKeys = {"tokenizer.ggml.eot_token_id",
                                                             "tokenizer.ggml.eom_token_id"};

// Of the GGUF format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
std::optional<GgufTokenKind> kind_of_type(int64_t type) {
  switch (type) {
    case 1:  // normal
      return GgufTokenKind::kWord;
    case 2:  // unknown
    case 3:  // control
      return GgufTokenKind::kSpecial;
    case 4:  // user defined
      return GgufTokenKind::kAdded;
    case 5:  // unused
      return GgufTokenKind::kUnused;
    case 6:  // byte
      return GgufTokenKind::kByte;
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  explicit Reader(const GgufFile& file) : file_(file) {}

  Result<GgufVocabulary> read() {
    SLUICE_RETURN_IF_ERROR(read_names());
    SLUICE_RETURN_IF_ERROR(read_kinds());
    SLUICE_RETURN_IF_ERROR(read_named_ids());
    SLUICE_RETURN_IF_ERROR(read_additions());
    SLUICE_RETURN_IF_ERROR(index_names());
    find_end_tokens();
    return std::move(vocabulary_);
  }

 private:
  size_t size() const { return vocabulary_.names.size(); }

  Status read_names() {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string_view>* const names,
                            gguf_array<std::string_view>(file_, kGgufTokensKey, "strings"));
    if (names->empty()) return gguf_fault(file_, kGgufTokensKey, "is empty");
    if (names->size() > std::numeric_limits<int32_t>::max()) {
      return gguf_fault(file_, kGgufTokensKey, "has too many tokens");
    }
    vocabulary_.names = *names;
    vocabulary_.kinds.resize(size(), GgufTokenKind::kWord);
    return {};
  }

  Status read_kinds() {
    if (file_.find(kTypesKey) == nullptr) return {};  // all are words, but for those that other keys name
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int64_t>* const types,
                            gguf_array<int64_t>(file_, kTypesKey, "whole numbers"));
    if (types->size() != size()) {
      return gguf_fault(file_, kTypesKey,
                        "has " + std::to_string(types->size()) + " elements for " + std::to_string(size()) + " tokens");
    }
    for (size_t id = 0; id < size(); ++id) {
      const std::optional<GgufTokenKind> kind = kind_of_type((*types)[id]);
      if (!kind) return gguf_fault(file_, kTypesKey, "has the unknown type " + std::to_string((*types)[id]));
      vocabulary_.kinds[id] = *kind;
    }
    return {};
  }

  /// A token that has a role is special, whatever type older converters gave it.
  Result<std::optional<int32_t>> read_special_id(std::string_view key) {
    if (file_.find(key) == nullptr) return std::optional<int32_t>();
    SLUICE_ASSIGN_OR_RETURN(const int64_t id, file_.get_int(key));
    if (id < 0 || id >= static_cast<int64_t>(size())) {
      return gguf_fault(file_, key, "is " + std::to_string(id) + ", outside the " + std::to_string(size()) + " tokens");
    }
    vocabulary_.kinds[static_cast<size_t>(id)] = GgufTokenKind::kSpecial;
    return std::optional<int32_t>(static_cast<int32_t>(id));
  }

  Status read_named_ids() {
    SLUICE_ASSIGN_OR_RETURN(vocabulary_.bos_id, read_special_id(kBosKey));
    SLUICE_ASSIGN_OR_RETURN(vocabulary_.eos_id, read_special_id(kEosKey));
    SLUICE_ASSIGN_OR_RETURN(vocabulary_.unknown_id, read_special_id(kUnknownKey));
    if (vocabulary_.eos_id) vocabulary_.end_ids.push_back(*vocabulary_.eos_id);
    for (const std::string_view key : kFurtherEndKeys) {
      SLUICE_ASSIGN_OR_RETURN(const std::optional<int32_t> id, read_special_id(key));
      if (id) vocabulary_.end_ids.push_back(*id);
    }
    return {};
  }

  Status read_additions() {
    SLUICE_ASSIGN_OR_RETURN(vocabulary_.adds_eos, file_.get_bool_or(kAddEosKey, false));
    if (vocabulary_.adds_eos && !vocabulary_.eos_id) {
      return gguf_fault(file_, kAddEosKey, "is true, but there is no " + std::string(kEosKey));
    }
    if (file_.find(kAddBosKey) == nullptr) return {};
    SLUICE_ASSIGN_OR_RETURN(const bool adds_bos, file_.get_bool_or(kAddBosKey, false));
    if (adds_bos && !vocabulary_.bos_id) {
      return gguf_fault(file_, kAddBosKey, "is true, but there is no " + std::string(kBosKey));
    }
    vocabulary_.adds_bos = adds_bos;
    return {};
  }

  Status index_names() {
    vocabulary_.id_of_name.reserve(size());
    for (size_t id = 0; id < size(); ++id) {
      const std::string_view name = vocabulary_.names[id];
      if (!is_valid_utf8(name)) return gguf_fault_at(file_, kGgufTokensKey, id, name, "is not UTF-8");
      if (vocabulary_.kinds[id] == GgufTokenKind::kUnused) continue;
      if (name.empty()) return gguf_fault_at(file_, kGgufTokensKey, id, name, "is empty");
      const bool is_new = vocabulary_.id_of_name.emplace(name, static_cast<int32_t>(id)).second;
      if (!is_new) return gguf_fault_at(file_, kGgufTokensKey, id, name, "is there twice");
    }
    return {};
  }

  void find_end_tokens() {
    std::vector<int32_t>& ids = vocabulary_.end_ids;
    for (const std::string_view name : kEndTokenNames) {
      const auto entry = vocabulary_.id_of_name.find(name);
      if (entry == vocabulary_.id_of_name.end()) continue;
      if (vocabulary_.kind(entry->second) == GgufTokenKind::kSpecial) ids.push_back(entry->second);
    }
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }

  const GgufFile& file_;
  GgufVocabulary vocabulary_;
};

}  // namespace

Result<GgufVocabulary> GgufVocabulary::read(const GgufFile& file) {
  return Reader(file).read();
}

std::optional<int32_t> GgufVocabulary::mergeable_id(std::string_view name) const {
  const auto entry = id_of_name.find(name);
  if (entry == id_of_name.end()) return std::nullopt;
  const GgufTokenKind found = kind(entry->second);
  if (found == GgufTokenKind::kSpecial) return std::nullopt;
  return entry->second;
}

Status gguf_fault(const GgufFile& file, std::string_view key, std::string_view problem) {
  return invalid_argument(file.path() + ": metadata " + std::string(key) + " " + std::string(problem));
}

Status gguf_fault_at(const GgufFile& file, std::string_view key, size_t index, std::string_view name,
                     std::string_view problem) {
  return gguf_fault(file, std::string(key) + "[" + std::to_string(index) + "]",
                    "\"" + printable_name(name) + "\" " + std::string(problem));
}

template <typename T>
Result<const std::vector<T>*> gguf_array(const GgufFile& file, std::string_view key, std::string_view wanted) {
  const GgufValue* const value = file.find(key);
  if (value == nullptr) return gguf_fault(file, key, "is missing");
  const auto* const array = std::get_if<GgufArray>(value);
  const auto* const elements = array == nullptr ? nullptr : std::get_if<std::vector<T>>(array);
  if (elements == nullptr) return gguf_fault(file, key, "is not an array of " + std::string(wanted));
  return elements;
}

template Result<const std::vector<int64_t>*> gguf_array(const GgufFile&, std::string_view, std::string_view);
template Result<const std::vector<double>*> gguf_array(const GgufFile&, std::string_view, std::string_view);
template Result<const std::vector<std::string_view>*> gguf_array(const GgufFile&, std::string_view, std::string_view);

}  // namespace sluice::engine
