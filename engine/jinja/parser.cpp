#include "engine/jinja/parser.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "engine/jinja/expression_parser.h"
#include "engine/jinja/lexer.h"
#include "engine/jinja/token_stream.h"
#include "engine/jinja/unicode.h"

namespace sluice::jinja {
namespace {

using StatementResult = Result<const Statement*>;
/// Names that end a block; the one that did stays the current token.
using Ends = std::initializer_list<std::string_view>;

class Parser {
 public:
  Parser(std::vector<Token> tokens, const Limits& limits)
      : tokens_(std::move(tokens)), expressions_(tokens_, ast_, limits.nesting_max) {}

  Result<Ast> run() {
    SLUICE_ASSIGN_OR_RETURN(ast_.root, parse_block({}));
    SLUICE_RETURN_IF_ERROR(expressions_.check_unknown_names());
    return std::move(ast_);
  }

 private:
  Statement& add(StatementKind kind, int32_t line);
  Result<Block> parse_block(Ends ends);
  /// The same, with the end of the tag before it and the whole tag that ends it.
  Result<Block> parse_body(std::string_view end);
  Status end_tag() { return tokens_.expect(TokenKind::kBlockEnd, "the end of the tag"); }

  StatementResult parse_data();
  StatementResult parse_output();
  StatementResult parse_statement();
  StatementResult parse_if(int32_t line);
  StatementResult parse_for(int32_t line);
  StatementResult parse_set(int32_t line);
  StatementResult parse_with(int32_t line);
  StatementResult parse_macro(int32_t line);
  StatementResult parse_call(int32_t line);
  StatementResult parse_filter(int32_t line);
  StatementResult parse_generation(int32_t line);
  StatementResult parse_jump(StatementKind kind, int32_t line);
  Status parse_macro_body(Statement& macro, std::string_view end);
  Status parse_parameters(Statement& macro);
  Result<Target> parse_targets();
  Result<Target> parse_target();

  TokenStream tokens_;
  Ast ast_;
  ExpressionParser expressions_;
  int loop_depth_ = 0;
};

Statement& Parser::add(StatementKind kind, int32_t line) {
  Statement& statement = ast_.statements.emplace_back();
  statement.kind = kind;
  statement.line = line;
  return statement;
}

bool ends_here(const TokenStream& tokens, Ends ends) {
  for (const std::string_view end : ends) {
    if (tokens.is_name(end)) return true;
  }
  return false;
}

Result<Block> Parser::parse_block(Ends ends) {
  SLUICE_RETURN_IF_ERROR(expressions_.enter());
  Block block;
  while (!tokens_.is(TokenKind::kEnd)) {
    if (tokens_.is(TokenKind::kBlockBegin)) {
      tokens_.take();
      if (ends_here(tokens_, ends)) {
        expressions_.leave();
        return block;
      }
      SLUICE_ASSIGN_OR_RETURN(const Statement* const statement, parse_statement());
      block.push_back(statement);
    } else {
      SLUICE_ASSIGN_OR_RETURN(const Statement* const statement,
                              tokens_.is(TokenKind::kData) ? parse_data() : parse_output());
      block.push_back(statement);
    }
  }
  if (ends.size() > 0) return tokens_.unexpected("'" + std::string(*(ends.end() - 1)) + "'");
  expressions_.leave();
  return block;
}

Result<Block> Parser::parse_body(std::string_view end) {
  SLUICE_RETURN_IF_ERROR(end_tag());
  SLUICE_ASSIGN_OR_RETURN(Block body, parse_block({end}));
  SLUICE_RETURN_IF_ERROR(tokens_.expect_name(end));
  SLUICE_RETURN_IF_ERROR(end_tag());
  return body;
}

StatementResult Parser::parse_data() {
  const Token token = tokens_.take();
  Statement& data = add(StatementKind::kData, token.line);
  data.data = Text(token.text, Origin::kTemplate);
  return &data;
}

StatementResult Parser::parse_output() {
  Statement& output = add(StatementKind::kOutput, tokens_.line());
  SLUICE_RETURN_IF_ERROR(tokens_.expect(TokenKind::kVariableBegin, "text or a tag"));
  SLUICE_ASSIGN_OR_RETURN(output.expression, expressions_.parse_tuple());
  SLUICE_RETURN_IF_ERROR(tokens_.expect(TokenKind::kVariableEnd, "'}}'"));
  return &output;
}

StatementResult Parser::parse_statement() {
  const int32_t line = tokens_.line();
  SLUICE_ASSIGN_OR_RETURN(const std::string tag, tokens_.take_name("the name of a tag"));
  if (tag == "if") return parse_if(line);
  if (tag == "for") return parse_for(line);
  if (tag == "set") return parse_set(line);
  if (tag == "with") return parse_with(line);
  if (tag == "macro") return parse_macro(line);
  if (tag == "call") return parse_call(line);
  if (tag == "filter") return parse_filter(line);
  if (tag == "generation") return parse_generation(line);
  if (tag == "break") return parse_jump(StatementKind::kBreak, line);
  if (tag == "continue") return parse_jump(StatementKind::kContinue, line);
  return error_at(line, "the tag \"" + tag + "\" is unknown or stands where it may not");
}

StatementResult Parser::parse_if(int32_t line) {
  Statement& statement = add(StatementKind::kIf, line);
  const size_t unknown_names = expressions_.unknown_name_count();
  do {
    Statement::Branch branch;
    SLUICE_ASSIGN_OR_RETURN(branch.condition, expressions_.parse_tuple());
    SLUICE_RETURN_IF_ERROR(end_tag());
    SLUICE_ASSIGN_OR_RETURN(branch.body, parse_block({"elif", "else", "endif"}));
    statement.branches.push_back(std::move(branch));
  } while (tokens_.skip_name("elif"));
  if (tokens_.skip_name("else")) {
    SLUICE_RETURN_IF_ERROR(end_tag());
    SLUICE_ASSIGN_OR_RETURN(statement.otherwise, parse_block({"endif"}));
  }
  SLUICE_RETURN_IF_ERROR(tokens_.expect_name("endif"));
  SLUICE_RETURN_IF_ERROR(end_tag());
  expressions_.forgive_unknown_names(unknown_names);
  return &statement;
}

StatementResult Parser::parse_for(int32_t line) {
  Statement& statement = add(StatementKind::kFor, line);
  SLUICE_ASSIGN_OR_RETURN(Target target, parse_targets());
  statement.targets.push_back(std::move(target));
  SLUICE_RETURN_IF_ERROR(tokens_.expect_name("in"));
  SLUICE_ASSIGN_OR_RETURN(statement.expression, expressions_.parse_iterable());
  if (tokens_.skip_name("if")) {
    SLUICE_ASSIGN_OR_RETURN(statement.condition, expressions_.parse());
  }
  statement.is_recursive = tokens_.skip_name("recursive");
  SLUICE_RETURN_IF_ERROR(end_tag());
  ++loop_depth_;
  SLUICE_ASSIGN_OR_RETURN(statement.body, parse_block({"else", "endfor"}));
  --loop_depth_;
  if (tokens_.skip_name("else")) {
    SLUICE_RETURN_IF_ERROR(end_tag());
    SLUICE_ASSIGN_OR_RETURN(statement.otherwise, parse_block({"endfor"}));
  }
  SLUICE_RETURN_IF_ERROR(tokens_.expect_name("endfor"));
  SLUICE_RETURN_IF_ERROR(end_tag());
  return &statement;
}

StatementResult Parser::parse_set(int32_t line) {
  Statement& statement = add(StatementKind::kSet, line);
  SLUICE_ASSIGN_OR_RETURN(Target target, parse_targets());
  statement.targets.push_back(std::move(target));
  if (tokens_.skip_operator("=")) {
    SLUICE_ASSIGN_OR_RETURN(statement.expression, expressions_.parse_tuple());
    SLUICE_RETURN_IF_ERROR(end_tag());
    return &statement;
  }
  statement.kind = StatementKind::kSetBlock;
  if (tokens_.skip_operator("|")) {
    SLUICE_ASSIGN_OR_RETURN(statement.expression, expressions_.parse_block_filters());
  }
  SLUICE_ASSIGN_OR_RETURN(statement.body, parse_body("endset"));
  return &statement;
}

StatementResult Parser::parse_with(int32_t line) {
  Statement& statement = add(StatementKind::kWith, line);
  while (!tokens_.is(TokenKind::kBlockEnd)) {
    if (!statement.targets.empty()) SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    SLUICE_ASSIGN_OR_RETURN(Target target, parse_target());
    statement.targets.push_back(std::move(target));
    SLUICE_RETURN_IF_ERROR(tokens_.expect_operator("="));
    SLUICE_ASSIGN_OR_RETURN(const Expression* const value, expressions_.parse());
    statement.values.push_back(value);
  }
  SLUICE_ASSIGN_OR_RETURN(statement.body, parse_body("endwith"));
  return &statement;
}

Status Parser::parse_parameters(Statement& macro) {
  SLUICE_RETURN_IF_ERROR(tokens_.expect_operator("("));
  while (!tokens_.is_operator(")")) {
    if (!macro.parameters.empty()) SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(","));
    Parameter parameter;
    SLUICE_ASSIGN_OR_RETURN(parameter.name, tokens_.take_name("the name of a parameter"));
    if (tokens_.skip_operator("=")) {
      SLUICE_ASSIGN_OR_RETURN(parameter.fallback, expressions_.parse());
    } else if (!macro.parameters.empty() && macro.parameters.back().fallback != nullptr) {
      return error_at(tokens_.line(), "a parameter without a default follows one that has one");
    }
    macro.parameters.push_back(std::move(parameter));
  }
  return tokens_.expect_operator(")");
}

Status Parser::parse_macro_body(Statement& macro, std::string_view end) {
  const ExpressionParser::SpecialNames before = expressions_.special_names();
  const int loop_depth = std::exchange(loop_depth_, 0);
  SLUICE_ASSIGN_OR_RETURN(macro.body, parse_body(end));
  loop_depth_ = loop_depth;
  const ExpressionParser::SpecialNames& after = expressions_.special_names();
  macro.uses_caller = after.caller > before.caller;
  macro.uses_varargs = after.varargs > before.varargs;
  macro.uses_kwargs = after.kwargs > before.kwargs;
  return {};
}

StatementResult Parser::parse_macro(int32_t line) {
  Statement& macro = add(StatementKind::kMacro, line);
  SLUICE_ASSIGN_OR_RETURN(macro.name, tokens_.take_name("the name of the macro"));
  SLUICE_RETURN_IF_ERROR(parse_parameters(macro));
  SLUICE_RETURN_IF_ERROR(parse_macro_body(macro, "endmacro"));
  return &macro;
}

StatementResult Parser::parse_call(int32_t line) {
  Statement& statement = add(StatementKind::kCall, line);
  statement.name = "caller";
  if (tokens_.is_operator("(")) SLUICE_RETURN_IF_ERROR(parse_parameters(statement));
  SLUICE_ASSIGN_OR_RETURN(statement.expression, expressions_.parse_call_of_block());
  SLUICE_RETURN_IF_ERROR(parse_macro_body(statement, "endcall"));
  return &statement;
}

StatementResult Parser::parse_filter(int32_t line) {
  Statement& statement = add(StatementKind::kFilter, line);
  SLUICE_ASSIGN_OR_RETURN(statement.expression, expressions_.parse_block_filters());
  SLUICE_ASSIGN_OR_RETURN(statement.body, parse_body("endfilter"));
  return &statement;
}

/// Training marks with it what the assistant said. For a prompt it is its body, which has variables of its own.
StatementResult Parser::parse_generation(int32_t line) {
  Statement& statement = add(StatementKind::kScope, line);
  SLUICE_RETURN_IF_ERROR(parse_macro_body(statement, "endgeneration"));
  return &statement;
}

StatementResult Parser::parse_jump(StatementKind kind, int32_t line) {
  if (loop_depth_ == 0) return error_at(line, "break and continue need a loop around them");
  SLUICE_RETURN_IF_ERROR(end_tag());
  return &add(kind, line);
}

Result<Target> Parser::parse_targets() {
  SLUICE_ASSIGN_OR_RETURN(Target first, parse_target());
  if (!tokens_.is_operator(",")) return first;
  Target tuple;
  tuple.parts.push_back(std::move(first));
  while (tokens_.skip_operator(",") && (tokens_.is(TokenKind::kName) || tokens_.is_operator("(")) &&
         !tokens_.is_name("in")) {
    SLUICE_ASSIGN_OR_RETURN(Target part, parse_target());
    tuple.parts.push_back(std::move(part));
  }
  return tuple;
}

Result<Target> Parser::parse_target() {
  if (tokens_.skip_operator("(")) {
    SLUICE_RETURN_IF_ERROR(expressions_.enter());
    SLUICE_ASSIGN_OR_RETURN(Target inner, parse_targets());
    expressions_.leave();
    SLUICE_RETURN_IF_ERROR(tokens_.expect_operator(")"));
    return inner;
  }
  Target target;
  SLUICE_ASSIGN_OR_RETURN(target.name, tokens_.take_name("a name to assign to"));
  if (tokens_.skip_operator(".")) {
    SLUICE_ASSIGN_OR_RETURN(target.attribute, tokens_.take_name("an attribute to assign to"));
  }
  return target;
}

}  // namespace

Result<Ast> parse(std::string_view source, const Limits& limits) {
  if (source.size() > limits.template_bytes_max) {
    return resource_exhausted("the template is longer than " + std::to_string(limits.template_bytes_max) + " bytes");
  }
  if (!is_valid_utf8(source)) return invalid_argument("the template is not valid UTF-8");
  SLUICE_ASSIGN_OR_RETURN(std::vector<Token> tokens, tokenize(source));
  return Parser(std::move(tokens), limits).run();
}

}  // namespace sluice::jinja
