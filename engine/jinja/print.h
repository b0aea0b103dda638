#pragma once

#include <optional>
#include <string>

#include "base/status.h"
#include "engine/jinja/limits.h"
#include "engine/jinja/value.h"

namespace sluice::jinja {

/// Python's str(): what {{ value }} prints. Strings keep their origins; whatever else is printed counts as input.
Result<Text> to_text(Budget& budget, const Value& value);
/// Python's repr().
Result<Text> to_repr(Budget& budget, const Value& value);

/// The arguments of Python's json.dumps.
struct JsonStyle {
  bool is_ascii = false;
  bool sorts_keys = false;
  std::optional<std::string> indent;  ///< one level of it; without it all stands on one line
  Text item_separator;
  Text key_separator;
};
/// Strings keep their origins; brackets and numbers count as input.
Result<Text> to_json(Budget& budget, const Value& value, const JsonStyle& style);

}  // namespace sluice::jinja
