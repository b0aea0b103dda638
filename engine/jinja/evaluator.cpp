// The part of the interpreter that gives expressions their values and calls what can be called.

#include <string>
#include <utility>

#include "engine/jinja/filters.h"
#include "engine/jinja/functions.h"
#include "engine/jinja/interpreter.h"
#include "engine/jinja/methods.h"
#include "engine/jinja/operators.h"
#include "engine/jinja/print.h"
#include "engine/jinja/subscripts.h"
#include "engine/jinja/tests.h"

namespace sluice::jinja {

Result<Value> Interpreter::evaluate(const Expression& expression) {
  line_ = expression.line;
  if (expression.kind == ExpressionKind::kConstant) return expression.constant;
  SLUICE_RETURN_IF_ERROR(runtime_.budget().take_steps());
  SLUICE_RETURN_IF_ERROR(runtime_.budget().enter());
  SLUICE_ASSIGN_OR_RETURN(Value value, evaluate_node(expression));
  runtime_.budget().leave();
  return value;
}

Result<Value> Interpreter::evaluate_node(const Expression& expression) {
  const auto operand = [&](size_t i) { return evaluate(*expression.operands[i]); };
  switch (expression.kind) {
    case ExpressionKind::kConstant:
      return expression.constant;
    case ExpressionKind::kName:
      return evaluate_name(expression);
    case ExpressionKind::kList:
    case ExpressionKind::kTuple: {
      SLUICE_ASSIGN_OR_RETURN(std::vector<Value> items, evaluate_all(expression.operands, 0));
      const bool is_list = expression.kind == ExpressionKind::kList;
      return runtime_.sequence(is_list ? SequenceKind::kList : SequenceKind::kTuple, std::move(items));
    }
    case ExpressionKind::kDict:
      return evaluate_dict(expression);
    case ExpressionKind::kAttribute: {
      SLUICE_ASSIGN_OR_RETURN(const Value object, operand(0));
      return get_attribute(runtime_, object, expression.name);
    }
    case ExpressionKind::kSubscript: {
      SLUICE_ASSIGN_OR_RETURN(const Value object, operand(0));
      SLUICE_ASSIGN_OR_RETURN(const Value key, operand(1));
      return get_item(runtime_, object, key);
    }
    case ExpressionKind::kSlice:
      return evaluate_slice(expression);
    case ExpressionKind::kCall:
      return evaluate_call(expression, nullptr);
    case ExpressionKind::kFilter:
      return evaluate_filter(expression);
    case ExpressionKind::kTest:
      return evaluate_test(expression);
    case ExpressionKind::kConditional:
      return evaluate_conditional(expression);
    case ExpressionKind::kAnd:
    case ExpressionKind::kOr: {
      SLUICE_ASSIGN_OR_RETURN(Value left, operand(0));
      return is_true(left) == (expression.kind == ExpressionKind::kOr) ? Result<Value>(std::move(left)) : operand(1);
    }
    case ExpressionKind::kNot: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, operand(0));
      return Value(!is_true(value));
    }
    case ExpressionKind::kNegate: {
      SLUICE_ASSIGN_OR_RETURN(const Value value, operand(0));
      return negate(value);
    }
    case ExpressionKind::kPlus:
      return evaluate_plus(expression);
    case ExpressionKind::kBinary: {
      SLUICE_ASSIGN_OR_RETURN(const Value left, operand(0));
      SLUICE_ASSIGN_OR_RETURN(const Value right, operand(1));
      return apply_binary(runtime_, expression.binary, left, right);
    }
    case ExpressionKind::kConcat:
      return evaluate_concat(expression);
    case ExpressionKind::kCompare:
      return evaluate_compare(expression);
  }
  return Value();
}

Result<Value> Interpreter::evaluate_name(const Expression& expression) const {
  if (const Value* const value = scope_->find(expression.name)) return *value;
  if (const Value* const value = variables_.find(expression.name)) return *value;
  if (is_function(expression.name)) return make_function(expression.name);
  return Value::undefined("'" + expression.name + "' is undefined");
}

Result<std::vector<Value>> Interpreter::evaluate_all(const std::vector<const Expression*>& expressions, size_t from) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (size_t i = from; i < expressions.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Value value, evaluate(*expressions[i]));
    values.push_back(std::move(value));
  }
  return values;
}

Result<Value> Interpreter::evaluate_dict(const Expression& expression) {
  Dict dict;
  for (size_t i = 0; i < expression.operands.size(); i += 2) {
    SLUICE_ASSIGN_OR_RETURN(Value key, evaluate(*expression.operands[i]));
    SLUICE_ASSIGN_OR_RETURN(Value value, evaluate(*expression.operands[i + 1]));
    SLUICE_RETURN_IF_ERROR(take_key(runtime_, key));
    if (!Dict::is_key(key)) return wrong_use("a dict here takes no keys of the type '" + type_name(key) + "'");
    dict.set(std::move(key), std::move(value));
  }
  return runtime_.dict(std::move(dict));
}

Result<Value> Interpreter::evaluate_slice(const Expression& expression) {
  SLUICE_ASSIGN_OR_RETURN(const Value object, evaluate(*expression.operands[0]));
  std::vector<Value> bounds(3);
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (expression.operands[i + 1] == nullptr) continue;
    SLUICE_ASSIGN_OR_RETURN(bounds[i], evaluate(*expression.operands[i + 1]));
  }
  return get_slice(runtime_, object, bounds[0], bounds[1], bounds[2]);
}

Result<Value> Interpreter::evaluate_concat(const Expression& expression) {
  Text sum;
  for (const Expression* const operand : expression.operands) {
    SLUICE_ASSIGN_OR_RETURN(const Value value, evaluate(*operand));
    SLUICE_ASSIGN_OR_RETURN(const Text text, to_text(runtime_.budget(), value));
    sum.append(text);
  }
  return runtime_.text(std::move(sum));
}

Result<Value> Interpreter::evaluate_compare(const Expression& expression) {
  SLUICE_ASSIGN_OR_RETURN(Value left, evaluate(*expression.operands[0]));
  for (size_t i = 0; i < expression.comparisons.size(); ++i) {
    SLUICE_ASSIGN_OR_RETURN(Value right, evaluate(*expression.operands[i + 1]));
    SLUICE_ASSIGN_OR_RETURN(const bool holds, compare(runtime_, expression.comparisons[i], left, right));
    if (!holds) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Result<Value> Interpreter::evaluate_conditional(const Expression& expression) {
  SLUICE_ASSIGN_OR_RETURN(const Value condition, evaluate(*expression.operands[0]));
  if (is_true(condition)) return evaluate(*expression.operands[1]);
  if (expression.operands[2] != nullptr) return evaluate(*expression.operands[2]);
  return Value::undefined("the inline if-expression on line " + std::to_string(expression.line) +
                          " evaluated to false and no else section was defined.");
}

Result<Value> Interpreter::evaluate_plus(const Expression& expression) {
  SLUICE_ASSIGN_OR_RETURN(Value value, evaluate(*expression.operands[0]));
  if (value.is(Kind::kUndefined)) return used_undefined(value);
  if (!value.is_number()) return wrong_use("bad operand type for unary +: '" + type_name(value) + "'");
  return value.is(Kind::kBool) ? Value(value.as_int()) : value;
}

Result<Value> Interpreter::evaluate_filter(const Expression& expression) {
  const Expression* const input = expression.operands[0];
  SLUICE_ASSIGN_OR_RETURN(const Value value, input == nullptr ? Result<Value>(block_texts_.back()) : evaluate(*input));
  SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(expression));
  return apply_filter(runtime_, expression.name, value, arguments);
}

Result<Value> Interpreter::evaluate_test(const Expression& expression) {
  SLUICE_ASSIGN_OR_RETURN(const Value value, evaluate(*expression.operands[0]));
  SLUICE_ASSIGN_OR_RETURN(const Arguments arguments, evaluate_arguments(expression));
  SLUICE_ASSIGN_OR_RETURN(const bool passes, apply_test(runtime_, expression.name, value, arguments));
  return Value(passes);
}

Result<Arguments> Interpreter::evaluate_arguments(const Expression& call) {
  Arguments arguments;
  SLUICE_ASSIGN_OR_RETURN(arguments.positional, evaluate_all(call.operands, 1));
  for (const auto& [name, expression] : call.named) {
    SLUICE_ASSIGN_OR_RETURN(Value value, evaluate(*expression));
    arguments.named.emplace_back(name, std::move(value));
  }
  if (call.star != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(const Value star, evaluate(*call.star));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Value> items, items_of(runtime_, star));
    arguments.positional.insert(arguments.positional.end(), items.begin(), items.end());
  }
  if (call.star_star != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(const Value star_star, evaluate(*call.star_star));
    if (!star_star.is(Kind::kDict)) return wrong_use("argument after ** must be a mapping");
    SLUICE_RETURN_IF_ERROR(runtime_.budget().take_value(Runtime::list_bytes(2 * star_star.dict().size())));
    for (const auto& [key, value] : star_star.dict().entries()) {
      if (!key.is(Kind::kString)) return wrong_use("keywords must be strings");
      arguments.named.emplace_back(key.bytes(), value);
    }
  }
  return arguments;
}

Result<Value> Interpreter::evaluate_call(const Expression& expression, const Value* caller) {
  SLUICE_ASSIGN_OR_RETURN(const Value callee, evaluate(*expression.operands[0]));
  SLUICE_ASSIGN_OR_RETURN(Arguments arguments, evaluate_arguments(expression));
  if (caller != nullptr) arguments.named.emplace_back("caller", *caller);
  line_ = expression.line;
  return call(callee, arguments);
}

Result<Value> Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (callee.is(Kind::kUndefined)) return used_undefined(callee);
  if (callee.is(Kind::kLoop)) return call_loop(callee.loop(), arguments);
  if (!callee.is(Kind::kCallable)) return wrong_use("'" + type_name(callee) + "' object is not callable");
  Callable& callable = callee.callable();
  switch (callable.kind) {
    case Callable::Kind::kFunction:
      return call_function(runtime_, callable.name, arguments);
    case Callable::Kind::kMethod:
      return call_method(runtime_, callable.self, callable.name, arguments);
    case Callable::Kind::kMacro:
      return call_macro(callable, arguments);
    case Callable::Kind::kJoiner:
      return callable.position++ == 0 ? Value("", Origin::kTemplate) : Value(callable.separator);
    case Callable::Kind::kCycler:
      break;
  }
  return wrong_use("'Cycler' object is not callable");
}

Result<Value> Interpreter::call_loop(const Loop& loop, const Arguments& arguments) {
  if (loop.recursive == nullptr) {
    return wrong_use("The loop must have the 'recursive' marker to be called recursively.");
  }
  SLUICE_ASSIGN_OR_RETURN(const Bound bound, bind("loop", arguments, {"iterable"}, 1));
  Scope* const scope = std::exchange(scope_, loop.outer);
  Text text;
  Text* const before = std::exchange(out_, &text);
  SLUICE_RETURN_IF_ERROR(loop_over(*loop.recursive, *bound[0], loop.depth0 + 1));
  out_ = before;
  scope_ = scope;
  return runtime_.text(std::move(text));
}

Result<Value> Interpreter::call_macro(const Callable& macro, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(runtime_.budget().take_steps());
  Frame frame = enter_scope(macro.closure);
  SLUICE_RETURN_IF_ERROR(set_parameters(*macro.macro, arguments));
  SLUICE_ASSIGN_OR_RETURN(Value text, captured(macro.macro->body));
  leave_scope(std::move(frame));
  return text;
}

Status Interpreter::set_parameters(const Statement& definition, const Arguments& arguments) {
  SLUICE_RETURN_IF_ERROR(set_extra_arguments(definition, arguments));
  for (size_t i = 0; i < definition.parameters.size(); ++i) {
    const Parameter& parameter = definition.parameters[i];
    const Value* const named = arguments.find(parameter.name);
    if (i < arguments.positional.size()) {
      scope_->set(parameter.name, arguments.positional[i]);
    } else if (named != nullptr) {
      scope_->set(parameter.name, *named);
    } else if (parameter.fallback != nullptr) {
      SLUICE_ASSIGN_OR_RETURN(Value fallback, evaluate(*parameter.fallback));
      scope_->set(parameter.name, std::move(fallback));
    } else {
      scope_->set(parameter.name, Value::undefined("parameter '" + parameter.name + "' was not provided"));
    }
  }
  return {};
}

Status Interpreter::set_extra_arguments(const Statement& definition, const Arguments& arguments) {
  const size_t count = definition.parameters.size();
  const std::string macro = "macro '" + definition.name + "' ";
  if (definition.uses_varargs) {
    std::vector<Value> extra;
    for (size_t i = count; i < arguments.positional.size(); ++i) extra.push_back(arguments.positional[i]);
    SLUICE_ASSIGN_OR_RETURN(Value varargs, runtime_.sequence(SequenceKind::kTuple, std::move(extra)));
    scope_->set("varargs", std::move(varargs));
  } else if (arguments.positional.size() > count) {
    return wrong_use(macro + "takes not more than " + std::to_string(count) + " argument(s)");
  }
  Dict extra;
  bool has_caller = false;
  for (const auto& [name, value] : arguments.named) {
    bool is_parameter = false;
    for (size_t i = 0; i < count && !is_parameter; ++i) {
      // A parameter that a position has filled already leaves a name that nobody takes.
      is_parameter = definition.parameters[i].name == name && i >= arguments.positional.size();
    }
    if (is_parameter) continue;
    if (name == "caller" && definition.uses_caller) {
      scope_->set("caller", value);
      has_caller = true;
    } else if (definition.uses_kwargs) {
      extra.set(Value(name, Origin::kInput), value);
    } else {
      return wrong_use(macro + "takes no keyword argument '" + name + "'");
    }
  }
  if (definition.uses_kwargs) {
    SLUICE_ASSIGN_OR_RETURN(Value kwargs, runtime_.dict(std::move(extra)));
    scope_->set("kwargs", std::move(kwargs));
  }
  if (definition.uses_caller && !has_caller) scope_->set("caller", Value::undefined("No caller defined"));
  return {};
}

}  // namespace sluice::jinja
