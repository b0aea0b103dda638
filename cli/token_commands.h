#pragma once

#include <optional>
#include <string>

#include "cli/connection_options.h"
#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace sluice::cli {

struct TokenizeCommandOptions {
  ConnectionOptions connection;
  std::optional<std::string> text;           ///< "-" is stdin
  std::optional<std::string> offline_model;  ///< a GGUF file or folder: tokenize here, without a daemon
  bool parse_special = false;
  bool add_bos = false;
  bool jsonl = false;
  bool json = false;
};

void add_tokenize_options(CLI::App& app, TokenizeCommandOptions& options);

/// One text: its ids on one line, "1 2 3", or {"ids":[1,2,3]} with --json. --jsonl: a line {"ids":[…]} for each line
/// {"text":"…"} of stdin, at once; stops at the first bad line with an error that names its number.
ExitCode run_tokenize(const TokenizeCommandOptions& options, const Terminal& terminal);

struct DetokenizeCommandOptions {
  ConnectionOptions connection;
  std::string ids;                           ///< "-" is stdin
  std::optional<std::string> offline_model;  ///< a GGUF file or folder: detokenize here, without a daemon
  bool keep_special = false;
  bool json = false;
};

void add_detokenize_options(CLI::App& app, DetokenizeCommandOptions& options);

/// The text and nothing else, or {"text":"…"} with --json.
ExitCode run_detokenize(const DetokenizeCommandOptions& options, const Terminal& terminal);

}  // namespace sluice::cli
