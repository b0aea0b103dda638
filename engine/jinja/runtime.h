#pragma once

#include <chrono>
#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/jinja/limits.h"
#include "engine/jinja/value.h"

namespace sluice::jinja {

/// What one rendering shares among all that works for it. Every value that a template builds goes through here, so that
/// the limits hold. Not thread-safe; one per rendering.
class Runtime {
 public:
  Runtime(const Limits& limits, std::chrono::system_clock::time_point now) : budget_(limits), now_(now) {}

  Budget& budget() { return budget_; }
  std::chrono::system_clock::time_point now() const { return now_; }

  Result<Value> text(Text text);
  Result<Value> sequence(SequenceKind kind, std::vector<Value> items);
  Result<Value> list(std::vector<Value> items) { return sequence(SequenceKind::kList, std::move(items)); }
  Result<Value> dict(Dict dict);
  Result<Value> callable(Callable callable);
  /// An empty one, which lives as long as this.
  Namespace& add_namespace() { return namespaces_.emplace_back(); }

  /// The bytes a list of that many items counts for.
  static size_t list_bytes(size_t items) { return items * kItemBytes; }

 private:
  static constexpr size_t kItemBytes = 64;

  Status check_depth(int32_t depth) const;

  Budget budget_;
  const std::chrono::system_clock::time_point now_;
  std::deque<Namespace> namespaces_;
};

/// What Python would raise a TypeError, a ValueError or the like for: FAILED_PRECONDITION.
Status wrong_use(std::string problem);
/// How the use of an undefined value fails.
Status used_undefined(const Value& value);

/// Charges a look-up by this key, or fails as Python does where it is none.
Status take_key(Runtime& runtime, const Value& key);

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;

  const Value* find(std::string_view name) const;
};

/// The arguments by the names of the parameters, in their order; nothing for those that were not given. Too many, an
/// unknown name or a name given twice is an error, and so is a missing one of the first `required`.
using Bound = std::vector<std::optional<Value>>;
Result<Bound> bind(std::string_view function, const Arguments& arguments, std::initializer_list<std::string_view> names,
                   size_t required = 0);
/// An argument that must be an int (or a bool), or `fallback` where it was not given.
Result<int64_t> int_argument(const std::optional<Value>& argument, std::string_view name, int64_t fallback);
/// An argument's text, as str() gives it, or `fallback` where it was not given.
Result<Text> text_argument(Runtime& runtime, const std::optional<Value>& argument, const Text& fallback);
/// The truth of an argument, or `fallback` where it was not given.
bool flag_argument(const std::optional<Value>& argument, bool fallback);

}  // namespace sluice::jinja
