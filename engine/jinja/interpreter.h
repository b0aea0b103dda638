#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/jinja/ast.h"
#include "engine/jinja/runtime.h"
#include "engine/jinja/scope.h"

namespace sluice::jinja {

/// One rendering of one template. After an error it is of no more use.
class Interpreter {
 public:
  /// Lends the tree and the variables.
  Interpreter(const Ast& ast, const Dict& variables, const Limits& limits, std::chrono::system_clock::time_point now)
      : ast_(ast), variables_(variables), runtime_(limits, now) {}

  Result<Text> run();

 private:
  /// What a statement says of those after it.
  enum class Flow { kOn, kBreak, kContinue };

  /// A scope in use, and the one to go back to.
  struct Frame {
    std::unique_ptr<Scope> scope;
    Scope* before = nullptr;
  };
  Frame enter_scope(Scope* parent);
  void leave_scope(Frame frame);

  // Statements.
  Result<Flow> execute(const Block& block);
  Result<Flow> execute(const Statement& statement);
  Result<Flow> execute_in_scope(const Block& block);
  Result<Flow> execute_if(const Statement& statement);
  Result<Flow> execute_with(const Statement& statement);
  Status execute_for(const Statement& statement);
  Status loop_over(const Statement& statement, const Value& iterable, int64_t depth0);
  Result<std::vector<Value>> filtered(const Statement& statement, std::vector<Value> items);
  Status run_body(const Statement& statement, const Value& loop);
  Status execute_call(const Statement& statement);
  Status execute_set(const Statement& statement);
  /// The text that a block prints, through the statement's filters.
  Result<Value> text_of_block(const Statement& statement);
  Result<Value> captured(const Block& block);
  Status assign(const Target& target, const Value& value);
  Status print(const Value& value);
  Status print(const Text& text);
  Result<Value> make_macro(const Statement& definition);

  // Expressions.
  Result<Value> evaluate(const Expression& expression);
  Result<Value> evaluate_node(const Expression& expression);
  Result<Value> evaluate_name(const Expression& expression) const;
  Result<std::vector<Value>> evaluate_all(const std::vector<const Expression*>& expressions, size_t from);
  Result<Value> evaluate_dict(const Expression& expression);
  Result<Value> evaluate_slice(const Expression& expression);
  Result<Value> evaluate_concat(const Expression& expression);
  Result<Value> evaluate_compare(const Expression& expression);
  Result<Value> evaluate_conditional(const Expression& expression);
  Result<Value> evaluate_plus(const Expression& expression);
  Result<Value> evaluate_filter(const Expression& expression);
  Result<Value> evaluate_test(const Expression& expression);
  Result<Value> evaluate_call(const Expression& expression, const Value* caller);
  Result<Arguments> evaluate_arguments(const Expression& call);

  // Calls.
  Result<Value> call(const Value& callee, const Arguments& arguments);
  Result<Value> call_macro(const Callable& macro, const Arguments& arguments);
  Status set_parameters(const Statement& definition, const Arguments& arguments);
  Status set_extra_arguments(const Statement& definition, const Arguments& arguments);
  Result<Value> call_loop(const Loop& loop, const Arguments& arguments);

  const Ast& ast_;
  const Dict& variables_;
  Runtime runtime_;
  Scope root_;
  Scope* scope_ = &root_;
  std::vector<std::unique_ptr<Scope>> captured_scopes_;
  std::vector<Value> block_texts_;  ///< what the filters of the innermost block begin with, last
  Text* out_ = nullptr;
  int32_t line_ = 1;  ///< of the node evaluated last, for messages
};

}  // namespace sluice::jinja
