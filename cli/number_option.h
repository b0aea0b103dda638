#pragma once

#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/parse_number.h"

namespace sluice::cli {

inline CLI::ValidationError not_a_number(const std::string& option, const std::string& text) {
  return CLI::ValidationError(option, "'" + text + "' is not a number, or out of range");
}

/// An option that stays empty unless it is given, so that the request says what the user said and no more. Throws what
/// CLI11 throws.
template <typename Number>
CLI::Option* add_number(CLI::App& app, const std::string& name, std::optional<Number>& target,
                        const std::string& help) {
  const auto take = [&target, name](const std::string& text) {
    target = parse_number<Number>(text);
    if (!target) throw not_a_number(name, text);
  };
  return app.add_option_function<std::string>(name, take, help)->type_name("N");
}

}  // namespace sluice::cli
