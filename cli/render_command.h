#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "cli/terminal.h"

namespace CLI {
class App;
}

namespace sluice::cli {

/// Texts of JSON are the JSON itself, or "@FILE".
struct RenderCommandOptions {
  std::string path;  ///< a GGUF file or a .jinja file
  std::string messages;
  std::optional<std::string> tools;
  std::optional<std::string> documents;
  std::optional<std::string> variables;
  std::optional<std::string> bos;
  std::optional<std::string> eos;
  std::optional<int64_t> now_seconds;  ///< since 1970; the template's date instead of today's
  bool no_generation_prompt = false;
  bool continue_final_message = false;
  bool json = false;
};

void add_render_options(CLI::App& app, RenderCommandOptions& options);

/// The text that the model would read and nothing else, or {"runs":[{"text":…,"from":"template"|"input"}]} with
/// --json. `now` is the time where the options name none.
ExitCode run_render(const RenderCommandOptions& options, const Terminal& terminal,
                    std::chrono::system_clock::time_point now);

}  // namespace sluice::cli
