#pragma once

#include "base/status.h"
#include "engine/hf_value.h"
#include "engine/hf_vocabulary.h"
#include "engine/tokenizer_spec.h"

namespace sluice::engine {

/// How a BPE model's vocabulary writes what words are made of.
enum class HfSpelling {
  kCharacters,  ///< as themselves
  kBytes,       ///< bytes in GPT-2's alphabet, and words come as bytes
};

/// "model" of a tokenizer.json, whose type is BPE: its options and merges, held against the vocabulary. Dropout, a
/// prefix or suffix of subwords and any other type are refused by name.
class HfBpeModel {
 public:
  /// Refuses what is not supported before the vocabulary is looked at.
  static Result<HfBpeModel> open(const HfValue& document);

  bool has_byte_fallback() const { return has_byte_fallback_; }
  /// A merge, a word or a character that would make a special token is left out: text must not become one.
  Result<BpeModel> read(const HfVocabulary& vocabulary, HfSpelling spelling) const;

 private:
  explicit HfBpeModel(HfValue model) : model_(std::move(model)) {}
  Status add_unknown(const HfVocabulary& vocabulary, BpeSymbols& symbols) const;
  Result<std::vector<BpeMerge>> read_merges(const HfVocabulary& vocabulary) const;

  HfValue model_;
  bool has_byte_fallback_ = false;
  bool fuses_unknown_ = false;
  bool takes_whole_words_ = false;
};

}  // namespace sluice::engine
