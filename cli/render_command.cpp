#include "cli/render_command.h"

#include <fstream>
#include <iterator>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "offline/render.h"

namespace sluice::cli {
namespace {

/// The argument itself, or what the file behind an "@" holds.
Result<std::string> read_json_argument(const std::string& argument) {
  if (!argument.starts_with('@')) return argument;
  const std::string path = argument.substr(1);
  std::ifstream in(path, std::ios::binary);
  if (!in.good()) return not_found("can't open " + path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return unavailable("can't read " + path);
  return text;
}

Result<std::optional<std::string>> read_json_argument(const std::optional<std::string>& argument) {
  if (!argument) return std::optional<std::string>();
  SLUICE_ASSIGN_OR_RETURN(std::string text, read_json_argument(*argument));
  return std::optional<std::string>(std::move(text));
}

Result<offline::RenderOptions> offline_options(const RenderCommandOptions& options,
                                               std::chrono::system_clock::time_point now) {
  offline::RenderOptions offline;
  offline.path = options.path;
  offline.tokens = {.bos = options.bos, .eos = options.eos};
  SLUICE_ASSIGN_OR_RETURN(offline.prompt.messages_json, read_json_argument(options.messages));
  SLUICE_ASSIGN_OR_RETURN(offline.prompt.tools_json, read_json_argument(options.tools));
  SLUICE_ASSIGN_OR_RETURN(offline.prompt.documents_json, read_json_argument(options.documents));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> variables, read_json_argument(options.variables));
  offline.prompt.variables_json = variables.value_or("");
  offline.prompt.add_generation_prompt = !options.no_generation_prompt && !options.continue_final_message;
  offline.prompt.continue_final_message = options.continue_final_message;
  offline.prompt.now = now;
  if (options.now_seconds) {
    offline.prompt.now = std::chrono::system_clock::time_point(std::chrono::seconds(*options.now_seconds));
  }
  return offline;
}

void print_runs(std::ostream& out, const std::vector<engine::TextRun>& runs) {
  nlohmann::json list = nlohmann::json::array();
  for (const engine::TextRun& run : runs) {
    const bool is_template = run.special == engine::SpecialTokens::kParse;
    list.push_back({{"text", run.text}, {"from", is_template ? "template" : "input"}});
  }
  // The writer throws at text that is not UTF-8, but for this handler.
  constexpr auto kReplace = nlohmann::json::error_handler_t::replace;
  out << nlohmann::json{{"runs", list}}.dump(-1, ' ', false, kReplace) << '\n';
}

}  // namespace

void add_render_options(CLI::App& app, RenderCommandOptions& options) {
  app.add_option("--offline", options.path,
                 "The GGUF file, the Hugging Face folder or the .jinja file with the template")
      ->type_name("PATH")
      ->required();
  app.add_option("--messages", options.messages, "The conversation, [{\"role\":…,\"content\":…},…]")
      ->type_name("JSON|@FILE")
      ->required();
  app.add_option("--tools", options.tools, "Definitions of tools")->type_name("JSON|@FILE");
  app.add_option("--documents", options.documents, "Documents to answer from")->type_name("JSON|@FILE");
  app.add_option("--kwargs", options.variables, "Further variables, {\"enable_thinking\":false}")
      ->type_name("JSON|@FILE");
  app.add_option("--bos", options.bos, "What the template sees as bos_token")->type_name("TEXT");
  app.add_option("--eos", options.eos, "What the template sees as eos_token")->type_name("TEXT");
  app.add_option("--now", options.now_seconds,
                 "Seconds since 1970 for templates that tell the date, so that a prompt can be repeated")
      ->type_name("SECONDS")
      ->check(CLI::Range(int64_t{0}, int64_t{253402300799}));
  CLI::Option* const bare = app.add_flag("--no-generation-prompt", options.no_generation_prompt,
                                         "End after the last message instead of with the beginning of an answer");
  app.add_flag("--continue-final-message", options.continue_final_message,
               "End with the last message's text, as the beginning of the answer")
      ->excludes(bare);
  app.add_flag("--json", options.json, "Print {\"runs\":[{\"text\":…,\"from\":\"template\"|\"input\"},…]}");
}

ExitCode run_render(const RenderCommandOptions& options, const Terminal& terminal,
                    std::chrono::system_clock::time_point now) {
  const Result<offline::RenderOptions> offline = offline_options(options, now);
  if (!offline.ok()) return report_failure(terminal, offline.status());
  const Result<std::vector<engine::TextRun>> runs = offline::render_prompt(*offline);
  if (!runs.ok()) return report_failure(terminal, runs.status());
  if (options.json) {
    print_runs(terminal.out, *runs);
  } else {
    for (const engine::TextRun& run : *runs) terminal.out << run.text;
  }
  return finish_output(terminal);
}

}  // namespace sluice::cli
