#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.h"
#include "engine/hf_value.h"

namespace sluice::engine {

/// An entry of "added_tokens", or of a tokenizer_config.json's "added_tokens_decoder".
struct HfAddedToken {
  std::string content;  ///< not empty
  int32_t id = 0;
  bool is_special = false;
  bool is_single_word = false;
  bool takes_left = false;
  bool takes_right = false;
  bool is_normalized = false;
};

/// The tokens of a tokenizer.json's model and those added to them: no id has two names and no name two ids.
class HfVocabulary {
 public:
  /// "model.vocab" and "added_tokens".
  static Result<HfVocabulary> read(const HfValue& document);

  /// Adds a token that is not there, or of the same name; an error when its id is another's.
  Status add(const HfAddedToken& token, const HfValue& where);
  /// Makes a token special; false when there is none of that name.
  bool make_special(std::string_view name);
  /// Tokens named <0x00> to <0xFF> are neither special nor added from here on.
  void make_byte_tokens_ordinary();

  std::optional<int32_t> id_of(std::string_view name) const;
  /// One past the largest id.
  int32_t size() const { return static_cast<int32_t>(names_.size()); }
  /// Empty for ids that no token has.
  const std::string& name(int32_t id) const { return names_[static_cast<size_t>(id)]; }
  bool is_special(int32_t id) const { return is_special_[static_cast<size_t>(id)]; }
  const std::vector<HfAddedToken>& added() const { return added_; }
  /// Whether merges know it; tokens that were only added are unknown to them.
  bool is_of_model(int32_t id) const {
    return id < static_cast<int32_t>(is_of_model_.size()) && is_of_model_[static_cast<size_t>(id)];
  }

 private:
  Status read_model(const HfValue& vocab);
  void append_added(const HfAddedToken& token);
  Status insert(const std::string& name, int32_t id, const HfValue& where);

  std::vector<std::string> names_;  // by id
  std::vector<bool> is_special_;    // [size]
  std::vector<bool> is_of_model_;   // by id; shorter where only added tokens follow
  std::unordered_map<std::string, int32_t> id_of_name_;
  std::vector<HfAddedToken> added_;
  std::unordered_map<int32_t, size_t> added_of_id_;  // places in added_
  size_t entries_ = 0;                               // of the file, which bound how far apart ids may lie
};

Result<HfAddedToken> hf_added_token(const HfValue& entry, int32_t id);

}  // namespace sluice::engine
