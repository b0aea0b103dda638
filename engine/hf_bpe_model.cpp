#include "engine/hf_bpe_model.h"

#include <array>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/bpe_alphabet.h"
#include "engine/byte_token.h"
#include "engine/printable_name.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

uint64_t pair_key(const BpeMerge& merge) {
  return (static_cast<uint64_t>(static_cast<uint32_t>(merge.left)) << 32U) | static_cast<uint32_t>(merge.right);
}

/// "left right" or ["left", "right"]
Result<std::array<std::string, 2>> parts_of(const HfValue& merge) {
  if (merge.json().is_array()) {
    if (merge.json().size() != 2) return merge.fault("is not two tokens");
    std::array<std::string, 2> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      SLUICE_ASSIGN_OR_RETURN(parts.at(i), HfValue(merge.json()[i], "").string());
    }
    return parts;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string line, merge.string());
  const size_t blank = line.find(' ');
  if (blank == std::string::npos || line.find(' ', blank + 1) != std::string::npos) {
    return merge.fault("is not two tokens with a blank between them");
  }
  return std::array<std::string, 2>{line.substr(0, blank), line.substr(blank + 1)};
}

/// nullopt for a merge that has to do with a special token.
Result<std::optional<BpeMerge>> merge_of(const HfValue& entry, int32_t rank, const HfVocabulary& vocabulary) {
  SLUICE_ASSIGN_OR_RETURN(const auto parts, parts_of(entry));
  const std::array<std::string, 3> names = {parts[0], parts[1], parts[0] + parts[1]};
  std::array<int32_t, 3> ids{};
  bool is_special = false;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::optional<int32_t> id = vocabulary.id_of(names.at(i));
    if (!id || !vocabulary.is_of_model(*id)) {
      return entry.fault("names \"" + printable_name(names.at(i)) + "\", which is no token");
    }
    ids.at(i) = *id;
    is_special = is_special || vocabulary.is_special(*id);
  }
  if (is_special) return std::optional<BpeMerge>();
  return std::optional<BpeMerge>({.left = ids[0], .right = ids[1], .merged = ids[2], .rank = rank});
}

bool is_word(const HfVocabulary& vocabulary, int32_t id) {
  return vocabulary.is_of_model(id) && !vocabulary.is_special(id);
}

void add_bytes(const HfVocabulary& vocabulary, BpeSymbols& symbols) {
  for (size_t byte = 0; byte < 256; ++byte) {
    const std::optional<int32_t> id = vocabulary.id_of(spell_byte(static_cast<uint8_t>(byte)));
    if (id && is_word(vocabulary, *id)) symbols.byte_ids[byte] = id;
  }
}

void add_characters(const HfVocabulary& vocabulary, bool has_byte_fallback, BpeSymbols& symbols) {
  symbols.are_characters = true;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!is_word(vocabulary, id)) continue;
    const std::string& name = vocabulary.name(id);
    if (utf8_step(name).size == name.size()) symbols.character_ids.emplace(first_character(name), id);
    const std::optional<uint8_t> byte = has_byte_fallback ? byte_of_token_name(name) : std::nullopt;
    if (byte) symbols.byte_ids[*byte] = id;
  }
}

WordIds whole_words(const HfVocabulary& vocabulary, HfSpelling spelling) {
  WordIds ids;
  for (int32_t id = 0; id < vocabulary.size(); ++id) {
    if (!is_word(vocabulary, id)) continue;
    const std::string& name = vocabulary.name(id);
    const std::optional<std::string> word = spelling == HfSpelling::kBytes ? bytes_of_spelling(name) : name;
    if (word) ids.emplace(*word, id);
  }
  return ids;
}

}  // namespace

Result<HfBpeModel> HfBpeModel::open(const HfValue& document) {
  SLUICE_ASSIGN_OR_RETURN(const HfValue model, document.get("model"));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> type, model.find_string("type"));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> merges, model.find("merges"));
  // Older files name no type; a model with merges is BPE.
  const std::string named = type.value_or(merges ? "BPE" : "");
  if (named != "BPE") return hf_unknown_type(model, named);
  for (const std::string_view member : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> affix, model.find_string(member));
    if (affix && !affix->empty()) return model.fault("has a " + std::string(member) + ", which is not supported");
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> dropout, model.find("dropout"));
  if (dropout && dropout->json() != 0.0) return dropout->fault("is not 0: it would make ids a matter of chance");
  HfBpeModel opened(model);
  SLUICE_ASSIGN_OR_RETURN(opened.has_byte_fallback_, model.get_bool_or("byte_fallback", false));
  SLUICE_ASSIGN_OR_RETURN(opened.fuses_unknown_, model.get_bool_or("fuse_unk", false));
  SLUICE_ASSIGN_OR_RETURN(opened.takes_whole_words_, model.get_bool_or("ignore_merges", false));
  return opened;
}

Result<BpeModel> HfBpeModel::read(const HfVocabulary& vocabulary, HfSpelling spelling) const {
  BpeModel model;
  if (spelling == HfSpelling::kBytes) {
    add_bytes(vocabulary, model.symbols);
  } else {
    add_characters(vocabulary, has_byte_fallback_, model.symbols);
  }
  SLUICE_RETURN_IF_ERROR(add_unknown(vocabulary, model.symbols));
  SLUICE_ASSIGN_OR_RETURN(model.merges, read_merges(vocabulary));
  if (takes_whole_words_) model.whole_words = whole_words(vocabulary, spelling);
  return model;
}

Status HfBpeModel::add_unknown(const HfVocabulary& vocabulary, BpeSymbols& symbols) const {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> unknown, model_.find_string("unk_token"));
  if (!unknown) return {};
  symbols.unknown_id = vocabulary.id_of(*unknown);
  symbols.fuses_unknown = fuses_unknown_;
  if (symbols.unknown_id) return {};
  return model_.fault("names the unk_token \"" + printable_name(*unknown) + "\", which is no token");
}

Result<std::vector<BpeMerge>> HfBpeModel::read_merges(const HfVocabulary& vocabulary) const {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> entries, model_.get_list("merges"));
  std::vector<BpeMerge> merges;
  merges.reserve(entries.size());
  std::unordered_set<uint64_t> pairs;
  pairs.reserve(entries.size());
  for (const HfValue& entry : entries) {
    const auto rank = static_cast<int32_t>(&entry - entries.data());
    SLUICE_ASSIGN_OR_RETURN(const std::optional<BpeMerge> merge, merge_of(entry, rank, vocabulary));
    if (!merge) continue;
    if (!pairs.insert(pair_key(*merge)).second) return entry.fault("is there twice");
    merges.push_back(*merge);
  }
  return merges;
}

}  // namespace sluice::engine
