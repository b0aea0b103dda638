#include "engine/jinja/interpreter.h"

#include <algorithm>
#include <string>
#include <utility>

#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"

namespace sluice::jinja {

Result<Text> Interpreter::run() {
  Text out;
  out_ = &out;
  const Status status = execute(ast_.root).status();
  if (status.ok()) return out;
  // What the template itself raises is meant for its user and says all there is to say.
  if (status.code() == StatusCode::kInvalidArgument) return status;
  return status.with_context("line " + std::to_string(line_));
}

Interpreter::Frame Interpreter::enter_scope(Scope* parent) {
  Frame frame{.scope = std::make_unique<Scope>(), .before = scope_};
  frame.scope->parent = parent;
  scope_ = frame.scope.get();
  return frame;
}

void Interpreter::leave_scope(Frame frame) {
  scope_ = frame.before;
  if (frame.scope->is_captured) captured_scopes_.push_back(std::move(frame.scope));
}

Result<Interpreter::Flow> Interpreter::execute(const Block& block) {
  SLUICE_RETURN_IF_ERROR(runtime_.budget().enter());
  Flow flow = Flow::kOn;
  for (const Statement* const statement : block) {
    SLUICE_RETURN_IF_ERROR(runtime_.budget().take_steps());
    line_ = statement->line;
    SLUICE_ASSIGN_OR_RETURN(flow, execute(*statement));
    if (flow != Flow::kOn) break;
  }
  runtime_.budget().leave();
  return flow;
}

Result<Interpreter::Flow> Interpreter::execute(const Statement& statement) {
  Status status;
  switch (statement.kind) {
    case StatementKind::kData:
      status = print(statement.data);
      break;
    case StatementKind::kOutput: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, evaluate(*statement.expression));
      status = print(value);
      break;
    }
    case StatementKind::kIf:
      return execute_if(statement);
    case StatementKind::kFor:
      status = execute_for(statement);
      break;
    case StatementKind::kSet:
    case StatementKind::kSetBlock:
      status = execute_set(statement);
      break;
    case StatementKind::kWith:
      return execute_with(statement);
    case StatementKind::kMacro: {
      SLUICE_ASSIGN_OR_RETURN(Value macro, make_macro(statement));
      scope_->set(statement.name, std::move(macro));
      break;
    }
    case StatementKind::kCall:
      status = execute_call(statement);
      break;
    case StatementKind::kFilter: {
      SLUICE_ASSIGN_OR_RETURN(const Value text, text_of_block(statement));
      status = print(text);
      break;
    }
    case StatementKind::kScope:
      return execute_in_scope(statement.body);
    case StatementKind::kBreak:
      return Flow::kBreak;
    case StatementKind::kContinue:
      return Flow::kContinue;
  }
  SLUICE_RETURN_IF_ERROR(status);
  return Flow::kOn;
}

Result<Interpreter::Flow> Interpreter::execute_in_scope(const Block& block) {
  Frame frame = enter_scope(scope_);
  SLUICE_ASSIGN_OR_RETURN(const Flow flow, execute(block));
  leave_scope(std::move(frame));
  return flow;
}

Result<Interpreter::Flow> Interpreter::execute_if(const Statement& statement) {
  for (const Statement::Branch& branch : statement.branches) {
    SLUICE_ASSIGN_OR_RETURN(const Value condition, evaluate(*branch.condition));
    if (is_true(condition)) return execute(branch.body);
  }
  return execute(statement.otherwise);
}

Result<Interpreter::Flow> Interpreter::execute_with(const Statement& statement) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> values, evaluate_all(statement.values, 0));
  Frame frame = enter_scope(scope_);
  for (size_t i = 0; i < values.size(); ++i) SLUICE_RETURN_IF_ERROR(assign(statement.targets[i], values[i]));
  SLUICE_ASSIGN_OR_RETURN(const Flow flow, execute(statement.body));
  leave_scope(std::move(frame));
  return flow;
}

Status Interpreter::execute_for(const Statement& statement) {
  SLUICE_ASSIGN_OR_RETURN(const Value iterable, evaluate(*statement.expression));
  if (statement.is_recursive) scope_->capture();
  return loop_over(statement, iterable, 0);
}

Result<std::vector<Value>> Interpreter::filtered(const Statement& statement, std::vector<Value> items) {
  if (statement.condition == nullptr) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    Frame frame = enter_scope(scope_);
    SLUICE_RETURN_IF_ERROR(assign(statement.targets[0], item));
    SLUICE_ASSIGN_OR_RETURN(const Value condition, evaluate(*statement.condition));
    leave_scope(std::move(frame));
    if (is_true(condition)) kept.push_back(std::move(item));
  }
  return kept;
}

Status Interpreter::loop_over(const Statement& statement, const Value& iterable, int64_t depth0) {
  SLUICE_ASSIGN_OR_RETURN(std::vector<Value> items, items_of(runtime_, iterable));
  SLUICE_ASSIGN_OR_RETURN(items, filtered(statement, std::move(items)));
  if (items.empty()) return execute_in_scope(statement.otherwise).status();
  auto loop = std::make_shared<Loop>();
  loop->depth = depth_around(items);
  loop->items = std::move(items);
  loop->depth0 = depth0;
  loop->recursive = statement.is_recursive ? &statement : nullptr;
  loop->outer = scope_;
  SLUICE_RETURN_IF_ERROR(run_body(statement, Value(loop)));
  loop->last_changed.reset();  // it might hold the loop itself
  return {};
}

Status Interpreter::run_body(const Statement& statement, const Value& loop) {
  Frame frame = enter_scope(scope_);
  for (size_t i = 0; i < loop.loop().items.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(runtime_.budget().take_steps());
    frame.scope->variables.clear();
    loop.loop().index0 = i;
    frame.scope->set("loop", loop);
    SLUICE_RETURN_IF_ERROR(assign(statement.targets[0], loop.loop().items[i]));
    SLUICE_ASSIGN_OR_RETURN(const Flow flow, execute(statement.body));
    if (flow == Flow::kBreak) break;
  }
  leave_scope(std::move(frame));
  return {};
}

Status Interpreter::execute_call(const Statement& statement) {
  SLUICE_ASSIGN_OR_RETURN(const Value caller, make_macro(statement));
  SLUICE_ASSIGN_OR_RETURN(const Value value, evaluate_call(*statement.expression, &caller));
  return print(value);
}

Status Interpreter::execute_set(const Statement& statement) {
  const bool is_block = statement.kind == StatementKind::kSetBlock;
  SLUICE_ASSIGN_OR_RETURN(const Value value, is_block ? text_of_block(statement) : evaluate(*statement.expression));
  return assign(statement.targets[0], value);
}

Result<Value> Interpreter::captured(const Block& block) {
  Text text;
  Text* const before = std::exchange(out_, &text);
  SLUICE_RETURN_IF_ERROR(execute(block).status());
  out_ = before;
  return runtime_.text(std::move(text));
}

Result<Value> Interpreter::text_of_block(const Statement& statement) {
  Frame frame = enter_scope(scope_);
  SLUICE_ASSIGN_OR_RETURN(Value text, captured(statement.body));
  leave_scope(std::move(frame));
  if (statement.expression == nullptr) return text;
  block_texts_.push_back(std::move(text));
  SLUICE_ASSIGN_OR_RETURN(Value filtered, evaluate(*statement.expression));
  block_texts_.pop_back();
  return filtered;
}

Status Interpreter::assign(const Target& target, const Value& value) {
  if (target.parts.empty()) {
    if (target.attribute.empty()) {
      scope_->set(target.name, value);
      return {};
    }
    const Value* const space = scope_->find(target.name);
    if (space == nullptr || !space->is(Kind::kNamespace)) {
      return wrong_use("cannot assign attribute on non-namespace object");
    }
    space->space().attributes.set(Value(target.attribute, Origin::kTemplate), value);
    return {};
  }
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> parts, items_of(runtime_, value));
  if (parts.size() != target.parts.size()) {
    return wrong_use("can't unpack " + std::to_string(parts.size()) + " values into " +
                     std::to_string(target.parts.size()));
  }
  for (size_t i = 0; i < parts.size(); ++i) SLUICE_RETURN_IF_ERROR(assign(target.parts[i], parts[i]));
  return {};
}

Status Interpreter::print(const Value& value) {
  if (value.is(Kind::kString)) return print(value.text());
  SLUICE_ASSIGN_OR_RETURN(const Text text, to_text(runtime_.budget(), value));
  return print(text);
}

Status Interpreter::print(const Text& text) {
  const size_t size_max = runtime_.budget().limits().output_bytes_max;
  if (text.size() > size_max - std::min(out_->size(), size_max)) {
    return resource_exhausted("the template gives more than " + std::to_string(size_max) + " bytes");
  }
  out_->append(text);
  return runtime_.budget().take_work(text.size());
}

Result<Value> Interpreter::make_macro(const Statement& definition) {
  scope_->capture();
  Callable macro;
  macro.kind = Callable::Kind::kMacro;
  macro.name = definition.name;
  macro.macro = &definition;
  macro.closure = scope_;
  return runtime_.callable(std::move(macro));
}

}  // namespace sluice::jinja
