#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "engine/jinja/text.h"

namespace sluice::jinja {

class Dict;
struct Sequence;
struct Namespace;
struct Loop;
struct Callable;

enum class Kind { kUndefined, kNone, kBool, kInt, kFloat, kString, kSequence, kDict, kNamespace, kLoop, kCallable };

/// The absence of a value: prints as nothing and is false; most other uses fail with `problem`.
struct Undefined {
  std::shared_ptr<const std::string> problem;
};
struct None {};

/// A value of the template language, with Python's meaning. Immutable but for namespaces, loops and generators; cheap
/// to copy. Integers are 64 bits wide.
class Value {
 public:
  Value() : state_(None{}) {}
  explicit Value(bool value) : state_(value) {}
  explicit Value(int64_t value) : state_(value) {}
  explicit Value(double value) : state_(value) {}
  explicit Value(Text text) : state_(std::make_shared<const Text>(std::move(text))) {}
  Value(std::string_view text, Origin origin) : Value(Text(text, origin)) {}
  explicit Value(std::shared_ptr<const Sequence> sequence) : state_(std::move(sequence)) {}
  explicit Value(std::shared_ptr<const Dict> dict) : state_(std::move(dict)) {}
  explicit Value(Namespace& space) : state_(&space) {}
  explicit Value(std::shared_ptr<Loop> loop) : state_(std::move(loop)) {}
  explicit Value(std::shared_ptr<Callable> callable) : state_(std::move(callable)) {}
  static Value undefined(std::string problem);

  Kind kind() const { return static_cast<Kind>(state_.index()); }
  bool is(Kind kind) const { return this->kind() == kind; }
  bool is_number() const { return is(Kind::kInt) || is(Kind::kFloat) || is(Kind::kBool); }

  // What a kind holds; a value of another kind is a bug of the caller.
  const std::string& problem() const { return *std::get<Undefined>(state_).problem; }
  bool as_bool() const { return std::get<bool>(state_); }
  double as_float() const { return std::get<double>(state_); }
  const Text& text() const { return *std::get<std::shared_ptr<const Text>>(state_); }
  const std::string& bytes() const { return text().bytes(); }
  const Sequence& sequence() const { return *std::get<std::shared_ptr<const Sequence>>(state_); }
  const Dict& dict() const { return *std::get<std::shared_ptr<const Dict>>(state_); }
  Namespace& space() const { return *std::get<Namespace*>(state_); }
  Loop& loop() const { return *std::get<std::shared_ptr<Loop>>(state_); }
  Callable& callable() const { return *std::get<std::shared_ptr<Callable>>(state_); }
  /// Of an int or a bool.
  int64_t as_int() const { return is(Kind::kBool) ? static_cast<int64_t>(as_bool()) : std::get<int64_t>(state_); }
  /// Of any number.
  double as_double() const { return is(Kind::kFloat) ? as_float() : static_cast<double>(as_int()); }

  /// How many containers are within each other here; 0 for what holds nothing.
  int32_t depth() const;
  /// Whether both are the very same object, as Python's "is" has it.
  bool is_same(const Value& other) const;

 private:
  using State =
      std::variant<Undefined, None, bool, int64_t, double, std::shared_ptr<const Text>, std::shared_ptr<const Sequence>,
                   std::shared_ptr<const Dict>, Namespace*, std::shared_ptr<Loop>, std::shared_ptr<Callable>>;
  explicit Value(Undefined undefined) : state_(std::move(undefined)) {}

  State state_;
};

/// What Python tells apart among things one after the other.
enum class SequenceKind { kList, kTuple, kRange, kKeys, kValues, kItems, kGenerator };

struct Sequence {
  SequenceKind kind = SequenceKind::kList;
  std::vector<Value> items;
  int32_t depth = 1;
  mutable bool is_used_up = false;  ///< a generator gives its items once

  bool has_length() const { return kind != SequenceKind::kGenerator; }
  bool has_subscripts() const {
    return kind == SequenceKind::kList || kind == SequenceKind::kTuple || kind == SequenceKind::kRange;
  }
};

/// Keys in the order of their first insertion.
class Dict {
 public:
  using Entry = std::pair<Value, Value>;

  /// Keys are equal as in Python: 1, 1.0 and true are one key. A key is a string, a number, none, or a tuple of those.
  static bool is_key(const Value& value);

  void set(Value key, Value value);
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
  const std::vector<Entry>& entries() const { return entries_; }
  size_t size() const { return entries_.size(); }
  int32_t depth() const { return depth_; }

 private:
  const Value* find_spelling(const std::string& spelling) const;

  std::vector<Entry> entries_;
  std::unordered_map<std::string, size_t> index_;  // by the key's spelling
  int32_t depth_ = 1;
};

/// The one thing a template may change. Lives as long as the rendering.
struct Namespace {
  Dict attributes;
};

struct Scope;
struct Statement;

/// The state of a `for`, which its body sees as `loop`.
struct Loop {
  std::vector<Value> items;
  size_t index0 = 0;
  int64_t depth0 = 0;
  int32_t depth = 1;                               ///< as Value::depth
  std::optional<std::vector<Value>> last_changed;  ///< what loop.changed() was called with last
  const Statement* recursive = nullptr;            ///< the statement, where it may call itself
  Scope* outer = nullptr;
};

/// Something that can be called.
struct Callable {
  enum class Kind { kFunction, kMethod, kMacro, kCycler, kJoiner };

  Kind kind = Kind::kFunction;
  std::string name;                  ///< of a function, method or macro
  Value self;                        ///< what a method belongs to
  const Statement* macro = nullptr;  ///< its definition; lives in the template
  Scope* closure = nullptr;          ///< where the macro was defined; lives as long as the rendering
  std::vector<Value> items;          ///< of a cycler
  size_t position = 0;               ///< of a cycler; how often a joiner was called
  Text separator;                    ///< of a joiner
  int32_t depth = 1;                 ///< as Value::depth
};

Value make_sequence(SequenceKind kind, std::vector<Value> items);
Value make_list(std::vector<Value> items);
/// One more than the deepest of them.
int32_t depth_around(const std::vector<Value>& items);
Value make_dict(Dict dict);
Value make_method(const Value& self, std::string_view name);
Value make_function(std::string_view name);

/// Python's bool().
bool is_true(const Value& value);
/// Python's name of the value's type: "str", "list", "NoneType".
std::string type_name(const Value& value);

}  // namespace sluice::jinja
