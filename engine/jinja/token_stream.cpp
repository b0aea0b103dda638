#include "engine/jinja/token_stream.h"

namespace sluice::jinja {
namespace {

std::string described(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kData:
      return "text";
    case TokenKind::kString:
      return "a string";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace

bool TokenStream::skip_operator(std::string_view text) {
  if (!is_operator(text)) return false;
  ++at_;
  return true;
}

bool TokenStream::skip_name(std::string_view text) {
  if (!is_name(text)) return false;
  ++at_;
  return true;
}

Status TokenStream::expect(TokenKind kind, std::string_view what) {
  if (!is(kind)) return unexpected(what);
  take();
  return {};
}

Status TokenStream::expect_operator(std::string_view text) {
  return skip_operator(text) ? Status() : unexpected("'" + std::string(text) + "'");
}

Status TokenStream::expect_name(std::string_view text) {
  return skip_name(text) ? Status() : unexpected("'" + std::string(text) + "'");
}

Result<std::string> TokenStream::take_name(std::string_view what) {
  if (!is(TokenKind::kName)) return unexpected(what);
  return take().text;
}

Status TokenStream::unexpected(std::string_view wanted) const {
  return error_at(line(), "expected " + std::string(wanted) + ", found " + described(current()));
}

}  // namespace sluice::jinja
