#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/jinja/ast.h"
#include "engine/jinja/token_stream.h"

namespace sluice::jinja {

using ExpressionResult = Result<const Expression*>;

/// Reads expressions off a token stream. Errors are INVALID_ARGUMENT and name the line.
class ExpressionParser {
 public:
  /// Both are lent. Nothing may nest deeper than `nesting_max`, whoever enters.
  ExpressionParser(TokenStream& tokens, Ast& ast, size_t nesting_max)
      : tokens_(tokens), ast_(ast), nesting_max_(nesting_max) {}

  ExpressionResult parse();
  /// An expression, or several with commas between them as a tuple.
  ExpressionResult parse_tuple();
  /// The same without a conditional at the top, so that an "if" may follow: what a `for` goes through.
  ExpressionResult parse_iterable();
  /// "name(arguments) | name …": filters of the text of a block.
  ExpressionResult parse_block_filters();
  ExpressionResult parse_call_of_block();

  /// Levels of nesting are counted together with those of statements.
  Status enter();
  void leave() { --nesting_; }

  /// Filters and tests that don't exist: an error of the whole template, unless a condition decides whether they are
  /// reached.
  void forgive_unknown_names(size_t from) { unknown_names_.resize(std::min(from, unknown_names_.size())); }
  size_t unknown_name_count() const { return unknown_names_.size(); }
  Status check_unknown_names() const { return unknown_names_.empty() ? Status() : unknown_names_.front(); }

  /// Whether any of these names was read since the counts were taken.
  struct SpecialNames {
    size_t caller = 0;
    size_t varargs = 0;
    size_t kwargs = 0;
  };
  const SpecialNames& special_names() const { return special_names_; }

 private:
  using Operands = std::vector<const Expression*>;

  Expression& add(ExpressionKind kind, int32_t line, Operands operands = {});
  ExpressionResult parse_conditional();
  ExpressionResult parse_or();
  ExpressionResult parse_and();
  ExpressionResult parse_not();
  ExpressionResult parse_compare();
  ExpressionResult parse_sum();
  ExpressionResult parse_concat();
  ExpressionResult parse_product();
  ExpressionResult parse_power();
  ExpressionResult parse_unary(bool with_filters);
  ExpressionResult parse_signed();
  ExpressionResult parse_primary();
  ExpressionResult parse_literal();
  ExpressionResult parse_name();
  ExpressionResult parse_list();
  ExpressionResult parse_dict();
  ExpressionResult parse_tuple_of(ExpressionResult (ExpressionParser::*element)(), bool is_parenthesised);
  bool is_tuple_end() const;
  ExpressionResult parse_postfix(const Expression* node);
  ExpressionResult parse_filters(const Expression* node);
  ExpressionResult parse_subscript(const Expression* node);
  ExpressionResult parse_attribute(const Expression* node);
  ExpressionResult parse_index(const Expression* node);
  ExpressionResult parse_call(const Expression* node);
  Status parse_arguments(Expression& call);
  Status parse_argument(Expression& call);
  ExpressionResult parse_filter(const Expression* node);
  ExpressionResult parse_test(const Expression* node);
  bool begins_test_argument() const;
  Result<std::string> parse_dotted_name();

  TokenStream& tokens_;
  Ast& ast_;
  const size_t nesting_max_;
  size_t nesting_ = 0;
  std::vector<Status> unknown_names_;
  SpecialNames special_names_;
};

}  // namespace sluice::jinja
