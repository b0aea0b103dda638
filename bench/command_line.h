#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <variant>
#include <vector>

#include "bench/replay_command.h"
#include "bench/run_config.h"

namespace sluice::bench {

struct CommandLine {
  std::optional<ReplayOptions> replay;  ///< set for `replay`, else it is `run`
  RunConfig run;
  std::string json_file;  ///< empty: none
};

/// What to do, or the exit code when that is already all (help, or wrong usage with its line on `err`). `arguments`
/// come without the program's name; without --seed it is `fresh_seed`.
std::variant<CommandLine, int> parse_command_line(const std::vector<std::string>& arguments, uint64_t fresh_seed,
                                                  std::ostream& out, std::ostream& err);

/// "N" or "N..M".
Result<TokenRange> parse_token_range(const std::string& text);

}  // namespace sluice::bench
