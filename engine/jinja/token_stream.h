#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/jinja/lexer.h"

namespace sluice::jinja {

/// The tokens a parser still has before it. Never goes past the kEnd that is the last one.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& current() const { return tokens_[at_]; }
  const Token& following() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  int32_t line() const { return current().line; }

  bool is(TokenKind kind) const { return current().kind == kind; }
  bool is_operator(std::string_view text) const { return is(TokenKind::kOperator) && current().text == text; }
  bool is_name(std::string_view text) const { return is(TokenKind::kName) && current().text == text; }

  Token take() { return is(TokenKind::kEnd) ? tokens_[at_] : std::move(tokens_[at_++]); }
  bool skip_operator(std::string_view text);
  bool skip_name(std::string_view text);

  Status expect(TokenKind kind, std::string_view what);
  Status expect_operator(std::string_view text);
  Status expect_name(std::string_view text);
  Result<std::string> take_name(std::string_view what);

  /// INVALID_ARGUMENT with the line in front and what was found instead.
  Status unexpected(std::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

}  // namespace sluice::jinja
