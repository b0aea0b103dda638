#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::bench {

/// One conversation of a dataset: what people said, and what was answered to each of it.
struct DatasetConversation {
  struct Turn {
    std::string prompt;
    std::string answer;
  };
  std::vector<Turn> turns;  ///< not empty
};

/// Tokens that a text is thought to have: a quarter of its bytes, as of English, and at least one.
int32_t estimate_tokens(const std::string& text);

/// Reads conversations in ShareGPT's form, {"conversations": [{"from": "human", "value": …}, {"from": "gpt", …}, …]},
/// one JSON object per line or all in one JSON array. "user" is as "human"; "gpt", "assistant", "chatgpt", "bing" and
/// "bard" answer; what is said by others, such as "system", is passed over. Only a person's turn with an answer counts,
/// and conversations without one are left out. Errors name the file and the line.
Result<std::vector<DatasetConversation>> read_dataset(const std::string& path);

/// The same from text; `name` stands for the file in errors.
Result<std::vector<DatasetConversation>> parse_dataset(const std::string& text, const std::string& name);

}  // namespace sluice::bench
