#pragma once

#include <cstdint>
#include <istream>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::offline {

/// How texts are turned into token ids with a model file and no daemon.
struct TokenizeOptions {
  std::string model_path;      ///< a GGUF file, of which only the metadata has to be there, a Hugging Face folder, or
                               ///< synthetic:SHAPE
  bool parse_special = false;  ///< names of special tokens become those tokens
  bool add_bos = false;        ///< begin with bos, or what else the model's prompts begin with
};

/// Ids of one text. Errors: a model file that can't be read or whose tokenizer is unknown, a text that is not UTF-8.
Result<std::vector<int32_t>> tokenize_text(const TokenizeOptions& options, std::string_view text);

/// The text that ids stand for, as a whole: blanks that encoding put at its beginning are left out. Special tokens are
/// left out or, with `keep_special`, come out as their names. Errors: those of a model file, an id outside the
/// vocabulary.
Result<std::string> detokenize_ids(const std::string& model_path, const std::vector<int32_t>& ids, bool keep_special);

/// Reads lines {"text":"…"} from `in` and writes, for each and in order, a line {"ids":[…]} to `out`; other members of
/// a line are ignored, and so are empty lines. Stops at the first bad line with an error that names its number, counted
/// from 1; the lines before it are answered.
Status tokenize_jsonl(const TokenizeOptions& options, std::istream& in, std::ostream& out);

}  // namespace sluice::offline
