#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::jinja {

enum class TokenKind {
  kData,  ///< text outside of tags, already cut as whitespace control says
  kVariableBegin,
  kVariableEnd,
  kBlockBegin,
  kBlockEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int32_t line = 1;
  std::string text;  ///< a string's value; what stands in the source for all others
  int64_t integer = 0;
  double number = 0;
};

/// The tokens of a template, the last one a kEnd. A newline after a block's or comment's tag goes away, blanks before
/// one that begins its line too (Jinja's trim_blocks and lstrip_blocks), and so does the last newline of all.
/// INVALID_ARGUMENT names the line.
Result<std::vector<Token>> tokenize(std::string_view source);

/// INVALID_ARGUMENT with the line in front.
Status error_at(int32_t line, std::string_view problem);

}  // namespace sluice::jinja
