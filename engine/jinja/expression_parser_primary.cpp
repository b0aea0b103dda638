// What expressions are made of: literals, names, subscripts and calls.

#include <utility>

#include "engine/jinja/expression_parser.h"

namespace sluice::jinja {

ExpressionResult ExpressionParser::parse_primary() {
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return parse_name();
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return parse_literal();
    default:
      break;
  }
  if (tokens_.is_operator("[")) return parse_list();
  if (tokens_.is_operator("{")) return parse_dict();
  if (!tokens_.skip_operator("(")) return tokens_.unexpected("an expression");
  SLUICE_ASSIGN_OR_RETURN(const Expression* const node,
                          parse_tuple_of(&ExpressionParser::parse_conditional, /*is_parenthesised=*/true));
  SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(")"));
  return node;
}

ExpressionResult ExpressionParser::parse_name() {
  const Token token = tokens_.take();
  Expression& node = add(ExpressionKind::kConstant, token.line);
  if (token.text == "true" || token.text == "True") {
    node.constant = Value(true);
  } else if (token.text == "false" || token.text == "False") {
    node.constant = Value(false);
  } else if (token.text != "none" && token.text != "None") {
    node.kind = ExpressionKind::kName;
    node.name = token.text;
  }
  special_names_.caller += token.text == "caller" ? 1 : 0;
  special_names_.varargs += token.text == "varargs" ? 1 : 0;
  special_names_.kwargs += token.text == "kwargs" ? 1 : 0;
  return &node;
}

ExpressionResult ExpressionParser::parse_literal() {
  Expression& node = add(ExpressionKind::kConstant, tokens_.line());
  if (tokens_.is(TokenKind::kInteger)) {
    node.constant = Value(tokens_.take().integer);
  } else if (tokens_.is(TokenKind::kFloat)) {
    node.constant = Value(tokens_.take().number);
  } else {
    std::string text;
    while (tokens_.is(TokenKind::kString)) text += tokens_.take().text;
    node.constant = Value(text, Origin::kTemplate);
  }
  return &node;
}

ExpressionResult ExpressionParser::parse_list() {
  const int32_t line = tokens_.take().line;
  Operands items;
  while (!tokens_.is_operator("]")) {
    if (!items.empty()) SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.is_operator("]")) break;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const item, parse());
    items.push_back(item);
  }
  SLUICE_RETURN_IF_ERROR(tokens_.expect_operator("]"));
  return &add(ExpressionKind::kList, line, std::move(items));
}

ExpressionResult ExpressionParser::parse_dict() {
  const int32_t line = tokens_.take().line;
  Operands entries;
  while (!tokens_.is_operator("}")) {
    if (!entries.empty()) SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    if (tokens_.is_operator("}")) break;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const key, parse());
    SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(":"));
    SLUICE_ASSIGN_OR_RETURN(const Expression* const value, parse());
    entries.push_back(key);
    entries.push_back(value);
  }
  SLUICE_RETURN_IF_ERROR(tokens_.expect_operator("}"));
  return &add(ExpressionKind::kDict, line, std::move(entries));
}

ExpressionResult ExpressionParser::parse_tuple() {
  return parse_tuple_of(&ExpressionParser::parse_conditional, /*is_parenthesised=*/false);
}

ExpressionResult ExpressionParser::parse_iterable() {
  return parse_tuple_of(&ExpressionParser::parse_or, /*is_parenthesised=*/false);
}

bool ExpressionParser::is_tuple_end() const {
  return tokens_.is(TokenKind::kVariableEnd) || tokens_.is(TokenKind::kBlockEnd) || tokens_.is_operator(")") ||
         tokens_.is_name("recursive");
}

ExpressionResult ExpressionParser::parse_tuple_of(ExpressionResult (ExpressionParser::*element)(),
                                                  bool is_parenthesised) {
  const int32_t line = tokens_.line();
  Operands items;
  bool is_tuple = false;
  while (!is_tuple_end()) {
    SLUICE_ASSIGN_OR_RETURN(const Expression* const item, (this->*element)());
    items.push_back(item);
    if (!tokens_.skip_operator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return items.front();
  if (items.empty() && !is_parenthesised) return tokens_.unexpected("an expression");
  return &add(ExpressionKind::kTuple, line, std::move(items));
}

ExpressionResult ExpressionParser::parse_subscript(const Expression* node) {
  return tokens_.skip_operator(".") ? parse_attribute(node) : parse_index(node);
}

ExpressionResult ExpressionParser::parse_attribute(const Expression* node) {
  const int32_t line = tokens_.line();
  if (tokens_.is(TokenKind::kInteger)) {
    SLUICE_ASSIGN_OR_RETURN(const Expression* const index, parse_literal());
    return &add(ExpressionKind::kSubscript, line, {node, index});
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string name, tokens_.take_name("a name or a number"));
  Expression& attribute = add(ExpressionKind::kAttribute, line, {node});
  attribute.name = name;
  return &attribute;
}

ExpressionResult ExpressionParser::parse_index(const Expression* node) {
  const int32_t line = tokens_.take().line;
  Operands bounds(1, nullptr);
  bool is_slice = false;
  bool is_tuple = false;
  while (!tokens_.is_operator("]")) {
    if (tokens_.is_operator(":") && bounds.size() < 3 && !is_tuple) {
      tokens_.take();
      is_slice = true;
      bounds.push_back(nullptr);
    } else if (bounds.back() == nullptr) {
      SLUICE_ASSIGN_OR_RETURN(bounds.back(), parse());
    } else if (!is_slice && tokens_.skip_operator(",")) {
      is_tuple = true;
      bounds.push_back(nullptr);
    } else {
      return tokens_.unexpected("']'");
    }
  }
  tokens_.take();
  if (is_slice) {
    bounds.resize(3, nullptr);
    bounds.insert(bounds.begin(), node);
    return &add(ExpressionKind::kSlice, line, std::move(bounds));
  }
  if (bounds.back() == nullptr) bounds.pop_back();
  if (bounds.empty()) return error_at(line, "a subscript is empty");
  const Expression* const index = is_tuple ? &add(ExpressionKind::kTuple, line, bounds) : bounds.front();
  return &add(ExpressionKind::kSubscript, line, {node, index});
}

ExpressionResult ExpressionParser::parse_call(const Expression* node) {
  Expression& call = add(ExpressionKind::kCall, tokens_.line(), {node});
  SLUICE_RETURN_IF_ERROR(parse_arguments(call));
  return &call;
}

Status ExpressionParser::parse_arguments(Expression& call) {
  SLUICE_RETURN_IF_ERROR(tokens_.expect_operator("("));
  bool is_first = true;
  while (!tokens_.is_operator(")")) {
    if (!is_first) SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    is_first = false;
    if (tokens_.is_operator(")")) break;
    SLUICE_RETURN_IF_ERROR(parse_argument(call));
  }
  return tokens_.expect_operator(")");
}

Status ExpressionParser::parse_argument(Expression& call) {
  const bool is_star = tokens_.skip_operator("*");
  const bool is_star_star = !is_star && tokens_.skip_operator("**");
  std::string name;
  const bool is_named = tokens_.is(TokenKind::kName) && tokens_.following().kind == TokenKind::kOperator &&
                        tokens_.following().text == "=";
  if (is_named && !is_star && !is_star_star) {
    name = tokens_.take().text;
    tokens_.take();
  }
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const Expression* const value, parse());
  if (is_star || is_star_star) {
    const Expression*& place = is_star ? call.star : call.star_star;
    if (place != nullptr) return error_at(line, "a call may have one * and one ** argument");
    place = value;
  } else if (!name.empty()) {
    call.named.emplace_back(std::move(name), value);
  } else if (!call.named.empty() || call.star_star != nullptr) {
    return error_at(line, "a positional argument follows a named one");
  } else {
    call.operands.push_back(value);
  }
  return {};
}

}  // namespace sluice::jinja
