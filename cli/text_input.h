#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::cli {

/// The argument itself, or all of `in` when it is "-"; UNAVAILABLE when that can't be read.
Result<std::string> read_argument(const std::string& argument, std::istream& in);

/// OK for UTF-8; `what` names the text in the message.
Status check_utf8(std::string_view text, std::string_view what);

/// "1 2 3", "1,2,3" or "[1, 2, 3]", any blanks.
Result<std::vector<int32_t>> parse_ids(std::string_view text);

/// "ID:BIAS".
struct LogitBias {
  int32_t id = 0;
  float bias = 0;
};
Result<LogitBias> parse_logit_bias(std::string_view text);

}  // namespace sluice::cli
