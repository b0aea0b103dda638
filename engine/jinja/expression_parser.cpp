#include "engine/jinja/expression_parser.h"

#include <array>
#include <optional>
#include <utility>

#include "engine/jinja/filters.h"
#include "engine/jinja/tests.h"

namespace sluice::jinja {
namespace {

std::optional<Comparison> comparison_of(const Token& token) {
  constexpr std::array<std::pair<std::string_view, Comparison>, 6> kComparisons = {{{"==", Comparison::kEqual},
                                                                                    {"!=", Comparison::kNotEqual},
                                                                                    {"<", Comparison::kLess},
                                                                                    {"<=", Comparison::kLessEqual},
                                                                                    {">", Comparison::kGreater},
                                                                                    {">=", Comparison::kGreaterEqual}}};
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  for (const auto& [text, comparison] : kComparisons) {
    if (token.text == text) return comparison;
  }
  return std::nullopt;
}

std::optional<BinaryOperator> product_of(const Token& token) {
  if (token.kind != TokenKind::kOperator) return std::nullopt;
  if (token.text == "*") return BinaryOperator::kMultiply;
  if (token.text == "/") return BinaryOperator::kDivide;
  if (token.text == "//") return BinaryOperator::kFloorDivide;
  if (token.text == "%") return BinaryOperator::kModulo;
  return std::nullopt;
}

}  // namespace

Status ExpressionParser::enter() {
  if (nesting_ >= nesting_max_) {
    return resource_exhausted("line " + std::to_string(tokens_.line()) + ": nested deeper than " +
                              std::to_string(nesting_max_) + " levels");
  }
  ++nesting_;
  return {};
}

Expression& ExpressionParser::add(ExpressionKind kind, int32_t line, Operands operands) {
  Expression& node = ast_.expressions.emplace_back();
  node.kind = kind;
  node.line = line;
  node.operands = std::move(operands);
  return node;
}

ExpressionResult ExpressionParser::parse() {
  return parse_conditional();
}

ExpressionResult ExpressionParser::parse_conditional() {
  SLUICE_RETURN_IF_ERROR(enter());
  const size_t unknown_names = unknown_name_count();
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_or());
  while (tokens_.is_name("if")) {
    const int32_t line = tokens_.take().line;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const condition, parse_or());
    const Expression* otherwise = nullptr;
    if (tokens_.skip_name("else")) {
      SLUICE_ASSIGN_OR_RETURN(otherwise, parse_conditional());
    }
    node = &add(ExpressionKind::kConditional, line, {condition, node, otherwise});
    forgive_unknown_names(unknown_names);
  }
  leave();
  return node;
}

ExpressionResult ExpressionParser::parse_or() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_and());
  while (tokens_.is_name("or")) {
    const int32_t line = tokens_.take().line;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const right, parse_and());
    node = &add(ExpressionKind::kOr, line, {node, right});
  }
  return node;
}

ExpressionResult ExpressionParser::parse_and() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_not());
  while (tokens_.is_name("and")) {
    const int32_t line = tokens_.take().line;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const right, parse_not());
    node = &add(ExpressionKind::kAnd, line, {node, right});
  }
  return node;
}

ExpressionResult ExpressionParser::parse_not() {
  if (!tokens_.is_name("not")) return parse_compare();
  SLUICE_RETURN_IF_ERROR(enter());
  const int32_t line = tokens_.take().line;
  SLUICE_ASSIGN_OR_RETURN(const Expression* const operand, parse_not());
  leave();
  return &add(ExpressionKind::kNot, line, {operand});
}

ExpressionResult ExpressionParser::parse_compare() {
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const Expression* const first, parse_sum());
  Operands operands = {first};
  std::vector<Comparison> comparisons;
  while (true) {
    const bool is_not_in =
        tokens_.is_name("not") && tokens_.following().kind == TokenKind::kName && tokens_.following().text == "in";
    if (const std::optional<Comparison> comparison = comparison_of(tokens_.current())) {
      tokens_.take();
      comparisons.push_back(*comparison);
    } else if (tokens_.skip_name("in")) {
      comparisons.push_back(Comparison::kIn);
    } else if (is_not_in) {
      tokens_.take();
      tokens_.take();
      comparisons.push_back(Comparison::kNotIn);
    } else {
      break;
    }
    SLUICE_ASSIGN_OR_RETURN(const Expression* const next, parse_sum());
    operands.push_back(next);
  }
  if (comparisons.empty()) return first;
  Expression& node = add(ExpressionKind::kCompare, line, std::move(operands));
  node.comparisons = std::move(comparisons);
  return &node;
}

ExpressionResult ExpressionParser::parse_sum() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_concat());
  while (tokens_.is_operator("+") || tokens_.is_operator("-")) {
    const Token token = tokens_.take();
    SLUICE_ASSIGN_OR_RETURN(const Expression* const right, parse_concat());
    Expression& sum = add(ExpressionKind::kBinary, token.line, {node, right});
    sum.binary = token.text == "+" ? BinaryOperator::kAdd : BinaryOperator::kSubtract;
    node = &sum;
  }
  return node;
}

ExpressionResult ExpressionParser::parse_concat() {
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const Expression* const first, parse_product());
  Operands operands = {first};
  while (tokens_.skip_operator("~")) {
    SLUICE_ASSIGN_OR_RETURN(const Expression* const next, parse_product());
    operands.push_back(next);
  }
  if (operands.size() == 1) return first;
  return &add(ExpressionKind::kConcat, line, std::move(operands));
}

ExpressionResult ExpressionParser::parse_product() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_power());
  while (const std::optional<BinaryOperator> binary = product_of(tokens_.current())) {
    const int32_t line = tokens_.take().line;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const right, parse_power());
    Expression& product = add(ExpressionKind::kBinary, line, {node, right});
    product.binary = *binary;
    node = &product;
  }
  return node;
}

ExpressionResult ExpressionParser::parse_power() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_unary(/*with_filters=*/true));
  while (tokens_.is_operator("**")) {
    const int32_t line = tokens_.take().line;
    SLUICE_ASSIGN_OR_RETURN(const Expression* const right, parse_unary(/*with_filters=*/true));
    Expression& power = add(ExpressionKind::kBinary, line, {node, right});
    power.binary = BinaryOperator::kPower;
    node = &power;
  }
  return node;
}

ExpressionResult ExpressionParser::parse_signed() {
  SLUICE_RETURN_IF_ERROR(enter());
  const Token sign = tokens_.take();
  SLUICE_ASSIGN_OR_RETURN(const Expression* const operand, parse_unary(/*with_filters=*/false));
  leave();
  return &add(sign.text == "-" ? ExpressionKind::kNegate : ExpressionKind::kPlus, sign.line, {operand});
}

ExpressionResult ExpressionParser::parse_unary(bool with_filters) {
  const bool is_signed = tokens_.is_operator("-") || tokens_.is_operator("+");
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, is_signed ? parse_signed() : parse_primary());
  SLUICE_ASSIGN_OR_RETURN(node, parse_postfix(node));
  return with_filters ? parse_filters(node) : ExpressionResult(node);
}

ExpressionResult ExpressionParser::parse_postfix(const Expression* node) {
  while (true) {
    if (tokens_.is_operator(".") || tokens_.is_operator("[")) {
      SLUICE_ASSIGN_OR_RETURN(node, parse_subscript(node));
    } else if (tokens_.is_operator("(")) {
      SLUICE_ASSIGN_OR_RETURN(node, parse_call(node));
    } else {
      return node;
    }
  }
}

ExpressionResult ExpressionParser::parse_filters(const Expression* node) {
  while (true) {
    if (tokens_.skip_operator("|")) {
      SLUICE_ASSIGN_OR_RETURN(node, parse_filter(node));
    } else if (tokens_.skip_name("is")) {
      SLUICE_ASSIGN_OR_RETURN(node, parse_test(node));
    } else if (tokens_.is_operator("(")) {
      SLUICE_ASSIGN_OR_RETURN(node, parse_call(node));
    } else {
      return node;
    }
  }
}

ExpressionResult ExpressionParser::parse_block_filters() {
  SLUICE_ASSIGN_OR_RETURN(const Expression* node, parse_filter(nullptr));
  while (tokens_.skip_operator("|")) {
    SLUICE_ASSIGN_OR_RETURN(node, parse_filter(node));
  }
  return node;
}

ExpressionResult ExpressionParser::parse_call_of_block() {
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const Expression* const node, parse());
  if (node->kind != ExpressionKind::kCall) return error_at(line, "a call block needs a call");
  return node;
}

Result<std::string> ExpressionParser::parse_dotted_name() {
  SLUICE_ASSIGN_OR_RETURN(std::string name, tokens_.take_name("a name"));
  while (tokens_.skip_operator(".")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string part, tokens_.take_name("a name"));
    name += "." + part;
  }
  return name;
}

ExpressionResult ExpressionParser::parse_filter(const Expression* node) {
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const std::string name, parse_dotted_name());
  Expression& filter = add(ExpressionKind::kFilter, line, {node});
  filter.name = name;
  if (!is_filter(name)) unknown_names_.push_back(error_at(line, "there is no filter \"" + name + "\""));
  if (tokens_.is_operator("(")) SLUICE_RETURN_IF_ERROR(parse_arguments(filter));
  return &filter;
}

bool ExpressionParser::begins_test_argument() const {
  switch (tokens_.current().kind) {
    case TokenKind::kName:
      return !tokens_.is_name("else") && !tokens_.is_name("or") && !tokens_.is_name("and");
    case TokenKind::kString:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return true;
    default:
      return tokens_.is_operator("[") || tokens_.is_operator("{");
  }
}

ExpressionResult ExpressionParser::parse_test(const Expression* node) {
  const int32_t line = tokens_.line();
  const bool is_negated = tokens_.skip_name("not");
  SLUICE_ASSIGN_OR_RETURN(const std::string name, parse_dotted_name());
  Expression& test = add(ExpressionKind::kTest, line, {node});
  test.name = name;
  if (!is_test(name)) unknown_names_.push_back(error_at(line, "there is no test \"" + name + "\""));
  if (tokens_.is_operator("(")) {
    SLUICE_RETURN_IF_ERROR(parse_arguments(test));
  } else if (begins_test_argument()) {
    if (tokens_.is_name("is")) return error_at(line, "tests can't follow each other with \"is\"");
    SLUICE_ASSIGN_OR_RETURN(const Expression* argument, parse_primary());
    SLUICE_ASSIGN_OR_RETURN(argument, parse_postfix(argument));
    test.operands.push_back(argument);
  }
  return is_negated ? &add(ExpressionKind::kNot, line, {&test}) : &test;
}

}  // namespace sluice::jinja
