#pragma once

#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "base/status.h"

namespace sluice::bench {

/// An option whose text `parse` turns into a value for `target`, or into an error that names the option. Throws what
/// CLI11 throws.
template <typename Value, typename Target>
CLI::Option* add_parsed(CLI::App& command, const std::string& name, Target& target,
                        Result<Value> (*parse)(const std::string&), const std::string& help) {
  const auto take = [&target, name, parse](const std::string& text) {
    Result<Value> value = parse(text);
    if (!value.ok()) throw CLI::ValidationError(name, value.status().message());
    target = std::move(value).value();
  };
  return command.add_option_function<std::string>(name, take, help);
}

}  // namespace sluice::bench
