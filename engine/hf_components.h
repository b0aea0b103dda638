#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "engine/hf_value.h"
#include "engine/pretokenizer.h"
#include "engine/text_normalizer.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

/// The components of a tokenizer.json, under the names and with the meaning that Hugging Face's tokenizers give them
/// (https://github.com/huggingface/tokenizers). `document` is the whole file. A component that is not known is refused
/// by its type and place.

/// "normalizer": NFC, NFD, NFKC, NFKD, Lowercase, Prepend, Replace, Strip, ByteLevel, Sequence.
Result<std::vector<TextNormalizer::Step>> hf_normalizer(const HfValue& document);

/// "pre_tokenizer": ByteLevel, Digits, Metaspace, Punctuation, Split, Whitespace, WhitespaceSplit, Sequence.
Result<std::vector<Pretokenizer::Stage>> hf_pretokenizer(const HfValue& document);

/// "decoder": ByteFallback, ByteLevel, Fuse, Metaspace, Replace, Strip, Sequence. What a token stands for does not
/// depend on its neighbours here, so what would make it so is refused.
class HfDecoder {
 public:
  static Result<HfDecoder> read(const HfValue& document);

  /// The bytes of a token that is no special one. An added token's name is never read as spelled bytes: it stood in a
  /// text as it is. An error means that a pattern can't be matched.
  Result<std::string> bytes_of(std::string_view name, bool is_added) const;
  LeadingBlanks dropped_blanks() const { return dropped_blanks_; }

 private:
  struct SpelledBytes {};  ///< GPT-2's alphabet
  struct ByteNames {};     ///< <0x00> to <0xFF>
  struct StripBlanks {
    size_t left = 0;
    size_t right = 0;
  };
  using Step = std::variant<TextNormalizer, SpelledBytes, ByteNames, StripBlanks>;

  Status add(const HfValue& component);
  Status add_metaspace(const HfValue& component);
  Status add_replace(const HfValue& component);
  Status add_strip(const HfValue& component);

  std::vector<Step> steps_;
  bool is_fused_ = false;  ///< what follows works on the whole text
  LeadingBlanks dropped_blanks_;
};

/// What "post_processor" puts around a text: TemplateProcessing, ByteLevel (which puts nothing), Sequence. Ids are
/// those of the file, not yet checked.
struct HfTemplate {
  std::vector<int32_t> prefix_ids;
  std::vector<int32_t> suffix_ids;
};
Result<HfTemplate> hf_post_processor(const HfValue& document);

}  // namespace sluice::engine
