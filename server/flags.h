#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "server/config.h"

namespace sluice::server {

/// What the command line asks for instead of serving: a text to print and the exit code.
struct EarlyExit {
  int code = 0;      ///< 0: the text is the answer, for stdout; 2: wrong usage or configuration, one line for stderr
  std::string text;  ///< ends with a newline
};

/// The command line asks for a look at the configured model instead of serving it.
struct VerifyModel {
  Config config;  ///< with a model path
};

using CommandLine = std::variant<Config, EarlyExit, VerifyModel>;

/// Reads the command line of sluiced (`arguments` without the program's name) and the configuration file it names. A
/// key's value is, last wins: its default, the file's, then that of the flags and --set in their order. The
/// configuration is valid and has a model path.
CommandLine parse_command_line(std::span<const char* const> arguments, std::string_view version);

}  // namespace sluice::server
