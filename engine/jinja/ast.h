#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "engine/jinja/value.h"

namespace sluice::jinja {

// What a template's source says. Nodes live in the template that was made of it and never change, so that many
// renderings may read them at once.

enum class ExpressionKind {
  kConstant,     ///< constant
  kName,         ///< name
  kList,         ///< operands
  kTuple,        ///< operands
  kDict,         ///< operands: key, value, key, value
  kAttribute,    ///< operands[0].name
  kSubscript,    ///< operands[0][operands[1]]
  kSlice,        ///< operands[0][operands[1]:operands[2]:operands[3]], which may be nullptr
  kCall,         ///< operands[0](operands[1], ..., named, star, star_star)
  kFilter,       ///< operands[0] | name(operands[1], ..., named); operands[0] is nullptr for the text of a block
  kTest,         ///< operands[0] is name(operands[1], ..., named)
  kConditional,  ///< operands[1] if operands[0] else operands[2], which may be nullptr
  kAnd,
  kOr,
  kNot,
  kNegate,
  kPlus,
  kBinary,   ///< operands[0] binary operands[1]
  kConcat,   ///< all operands
  kCompare,  ///< operands[0] comparisons[0] operands[1] comparisons[1] operands[2] ...
};

enum class BinaryOperator { kAdd, kSubtract, kMultiply, kDivide, kFloorDivide, kModulo, kPower };
enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

struct Expression {
  using Named = std::pair<std::string, const Expression*>;

  ExpressionKind kind = ExpressionKind::kConstant;
  int32_t line = 1;
  Value constant;
  std::string name;
  BinaryOperator binary = BinaryOperator::kAdd;
  std::vector<const Expression*> operands;
  std::vector<Comparison> comparisons;
  std::vector<Named> named;
  const Expression* star = nullptr;
  const Expression* star_star = nullptr;
};

using Block = std::vector<const Statement*>;

/// What is assigned to: a name, an attribute of a namespace, or several of those.
struct Target {
  std::string name;
  std::string attribute;      ///< empty for a name
  std::vector<Target> parts;  ///< not empty: the value is taken apart
};

struct Parameter {
  std::string name;
  const Expression* fallback = nullptr;
};

enum class StatementKind {
  kData,      ///< value
  kOutput,    ///< expression
  kIf,        ///< branches, and otherwise
  kFor,       ///< targets[0] in expression if condition: body, and otherwise
  kSet,       ///< targets[0] = expression
  kSetBlock,  ///< targets[0] = the text of body, through the filters of expression if there are some
  kWith,      ///< targets[i] = values[i]: body
  kMacro,     ///< name(parameters): body
  kCall,      ///< expression(caller = macro of parameters and body)
  kFilter,    ///< the text of body through the filters of expression
  kScope,     ///< body, with variables of its own
  kBreak,
  kContinue,
};

struct Statement {
  struct Branch {
    const Expression* condition = nullptr;
    Block body;
  };

  StatementKind kind = StatementKind::kData;
  int32_t line = 1;
  Text data;
  std::string name;
  const Expression* expression = nullptr;
  const Expression* condition = nullptr;
  bool is_recursive = false;
  std::vector<Target> targets;
  std::vector<const Expression*> values;
  std::vector<Parameter> parameters;
  std::vector<Branch> branches;
  Block body;
  Block otherwise;
  // Of a macro: which of the names that it did not declare it uses.
  bool uses_caller = false;
  bool uses_varargs = false;
  bool uses_kwargs = false;
};

/// Owns all nodes of a template; moving it leaves them where they are.
struct Ast {
  std::deque<Expression> expressions;
  std::deque<Statement> statements;
  Block root;
};

}  // namespace sluice::jinja
