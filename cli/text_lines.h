#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace sluice::cli {

/// Reads lines {"text":"…"} and writes a line {"ids":[…]} for each, at once; skips empty lines. Stops at the first line
/// that is bad or that `tokenize` fails on, with an error that names its number, counted from 1.
Status answer_lines(std::istream& in, std::ostream& out,
                    const std::function<Result<std::vector<int32_t>>(const std::string& text)>& tokenize);

}  // namespace sluice::cli
