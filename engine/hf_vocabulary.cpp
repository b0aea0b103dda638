#include "engine/hf_vocabulary.h"

#include <algorithm>
#include <utility>

#include "engine/byte_token.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr size_t kGapMax = 65536;  // ids without a token, beside one for each that has one

std::string in_quotes(std::string_view name) {
  return "\"" + printable_name(name) + "\"";
}

}  // namespace

Result<HfAddedToken> hf_added_token(const HfValue& entry, int32_t id) {
  HfAddedToken token;
  token.id = id;
  SLUICE_ASSIGN_OR_RETURN(token.content, entry.get_string("content"));
  SLUICE_ASSIGN_OR_RETURN(token.is_special, entry.get_bool_or("special", false));
  SLUICE_ASSIGN_OR_RETURN(token.is_single_word, entry.get_bool_or("single_word", false));
  SLUICE_ASSIGN_OR_RETURN(token.takes_left, entry.get_bool_or("lstrip", false));
  SLUICE_ASSIGN_OR_RETURN(token.takes_right, entry.get_bool_or("rstrip", false));
  SLUICE_ASSIGN_OR_RETURN(token.is_normalized, entry.get_bool_or("normalized", !token.is_special));
  if (token.content.empty()) return entry.fault("has an empty content");
  return token;
}

Result<HfVocabulary> HfVocabulary::read(const HfValue& document) {
  SLUICE_ASSIGN_OR_RETURN(const HfValue model, document.get("model"));
  SLUICE_ASSIGN_OR_RETURN(const HfValue vocab, model.get("vocab"));
  if (!vocab.json().is_object()) return vocab.fault("is not an object");
  HfVocabulary vocabulary;
  vocabulary.entries_ = vocab.json().size();
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> has_added, document.find("added_tokens"));
  std::vector<HfValue> entries;
  if (has_added) {
    SLUICE_ASSIGN_OR_RETURN(entries, document.get_list("added_tokens"));
  }
  vocabulary.entries_ += entries.size();
  SLUICE_RETURN_IF_ERROR(vocabulary.read_model(vocab));
  for (const HfValue& entry : entries) {
    SLUICE_ASSIGN_OR_RETURN(const HfValue id_member, entry.get("id"));
    SLUICE_ASSIGN_OR_RETURN(const int32_t id, id_member.id());
    SLUICE_ASSIGN_OR_RETURN(const HfAddedToken token, hf_added_token(entry, id));
    SLUICE_RETURN_IF_ERROR(vocabulary.add(token, entry));
  }
  if (vocabulary.names_.empty()) return vocab.fault("is empty");
  return vocabulary;
}

Status HfVocabulary::read_model(const HfValue& vocab) {
  id_of_name_.reserve(entries_);
  for (const auto& [name, value] : vocab.json().items()) {
    const HfValue entry(value, "");
    const Result<int32_t> id = entry.id();
    if (!id.ok()) return vocab.fault("gives " + in_quotes(name) + " no id from 0 to 2147483646");
    SLUICE_RETURN_IF_ERROR(insert(name, *id, vocab));
  }
  is_of_model_.resize(names_.size());
  for (size_t id = 0; id < names_.size(); ++id) is_of_model_[id] = !names_[id].empty();
  return {};
}

Status HfVocabulary::insert(const std::string& name, int32_t id, const HfValue& where) {
  const auto index = static_cast<size_t>(id);
  if (index >= 2 * entries_ + kGapMax) {
    return where.fault("gives " + in_quotes(name) + " the id " + std::to_string(id) + ", far beyond its " +
                       std::to_string(entries_) + " tokens");
  }
  if (name.empty()) return where.fault("has a token without a name");
  if (index >= names_.size()) {
    names_.resize(index + 1);
    is_special_.resize(index + 1);
  }
  if (!names_[index].empty()) {
    return where.fault("gives the id " + std::to_string(id) + " to " + in_quotes(names_[index]) + " and to " +
                       in_quotes(name));
  }
  names_[index] = name;
  id_of_name_.emplace(name, id);
  return {};
}

Status HfVocabulary::add(const HfAddedToken& token, const HfValue& where) {
  const std::optional<int32_t> known = id_of(token.content);
  if (known && *known != token.id) {
    return where.fault("has the id " + std::to_string(token.id) + ", but " + in_quotes(token.content) + " is token " +
                       std::to_string(*known));
  }
  if (!known) SLUICE_RETURN_IF_ERROR(insert(token.content, token.id, where));
  if (!added_of_id_.contains(token.id)) append_added(token);
  if (token.is_special) make_special(token.content);
  return {};
}

bool HfVocabulary::make_special(std::string_view name) {
  const std::optional<int32_t> id = id_of(name);
  if (!id) return false;
  is_special_[static_cast<size_t>(*id)] = true;
  if (const auto known = added_of_id_.find(*id); known != added_of_id_.end()) {
    added_[known->second].is_special = true;
  } else {
    append_added({.content = std::string(name), .id = *id, .is_special = true});
  }
  return true;
}

void HfVocabulary::append_added(const HfAddedToken& token) {
  added_of_id_.emplace(token.id, added_.size());
  added_.push_back(token);
}

void HfVocabulary::make_byte_tokens_ordinary() {
  const auto is_byte = [](const HfAddedToken& token) { return byte_of_token_name(token.content).has_value(); };
  for (const HfAddedToken& token : added_) {
    if (is_byte(token)) is_special_[static_cast<size_t>(token.id)] = false;
  }
  added_.erase(std::remove_if(added_.begin(), added_.end(), is_byte), added_.end());
  added_of_id_.clear();
  for (size_t i = 0; i < added_.size(); ++i) added_of_id_.emplace(added_[i].id, i);
}

std::optional<int32_t> HfVocabulary::id_of(std::string_view name) const {
  const auto entry = id_of_name_.find(std::string(name));
  return entry == id_of_name_.end() ? std::nullopt : std::optional(entry->second);
}

}  // namespace sluice::engine
