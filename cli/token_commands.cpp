#include "cli/token_commands.h"

#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "cli/text_input.h"
#include "cli/text_lines.h"
#include "offline/tokenize.h"

namespace sluice::cli {
namespace {

using Ids = std::vector<int32_t>;

Result<Ids> ids_from_daemon(client::InferenceClient& daemon, const TokenizeCommandOptions& options,
                            const std::string& text) {
  v1::TokenizeRequest request;
  request.set_text(text);
  if (options.parse_special) request.set_parse_special(true);
  if (options.add_bos) request.set_add_bos(true);
  SLUICE_ASSIGN_OR_RETURN(const v1::TokenizeResponse response,
                          daemon.tokenize(request, call_options(options.connection)));
  return Ids(response.ids().begin(), response.ids().end());
}

offline::TokenizeOptions offline_options(const TokenizeCommandOptions& options) {
  return {.model_path = *options.offline_model, .parse_special = options.parse_special, .add_bos = options.add_bos};
}

Result<Ids> ids_of_text(const TokenizeCommandOptions& options, const std::string& text) {
  if (options.offline_model) return offline::tokenize_text(offline_options(options), text);
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  return ids_from_daemon(*daemon, options, text);
}

Status tokenize_lines(const TokenizeCommandOptions& options, const Terminal& terminal) {
  if (options.offline_model) return offline::tokenize_jsonl(offline_options(options), terminal.in, terminal.out);
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  return answer_lines(terminal.in, terminal.out,
                      [&](const std::string& text) { return ids_from_daemon(*daemon, options, text); });
}

void print_ids(std::ostream& out, const Ids& ids, bool json) {
  if (json) {
    out << nlohmann::json{{"ids", ids}}.dump() << '\n';
    return;
  }
  for (size_t i = 0; i < ids.size(); ++i) out << (i > 0 ? " " : "") << ids[i];
  out << '\n';
}

ExitCode tokenize_argument(const TokenizeCommandOptions& options, const Terminal& terminal) {
  const Result<std::string> text = read_argument(*options.text, terminal.in);
  if (!text.ok()) return report_failure(terminal, text.status());
  if (const Status utf8 = check_utf8(*text, "the text"); !utf8.ok()) return report_wrong_usage(terminal, utf8);
  const Result<Ids> ids = ids_of_text(options, *text);
  if (!ids.ok()) return report_failure(terminal, ids.status());
  print_ids(terminal.out, *ids, options.json);
  return finish_output(terminal);
}

Result<std::string> text_of_ids(const DetokenizeCommandOptions& options, const Ids& ids) {
  if (options.offline_model) return offline::detokenize_ids(*options.offline_model, ids, options.keep_special);
  v1::DetokenizeRequest request;
  request.mutable_ids()->Assign(ids.begin(), ids.end());
  if (options.keep_special) request.set_keep_special(true);
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  SLUICE_ASSIGN_OR_RETURN(v1::DetokenizeResponse response,
                          daemon->detokenize(request, call_options(options.connection)));
  return std::move(*response.mutable_text());
}

}  // namespace

void add_tokenize_options(CLI::App& app, TokenizeCommandOptions& options) {
  add_connection_options(app, options.connection);
  CLI::Option* const text = app.add_option("text", options.text, "The text; - reads it from stdin")->type_name("TEXT");
  app.add_option("--offline", options.offline_model,
                 "Tokenize with this GGUF file (its tensors may be missing), Hugging Face folder or synthetic:SHAPE, "
                 "without a daemon")
      ->type_name("MODEL");
  app.add_flag("--parse-special", options.parse_special, "Read names of special tokens as those tokens");
  app.add_flag("--add-bos", options.add_bos, "Begin with bos if the model's prompts do");
  app.add_flag("--jsonl", options.jsonl, "Lines {\"text\":…} of stdin to lines {\"ids\":[…]}")->excludes(text);
  app.add_flag("--json", options.json, "Print {\"ids\":[…]}");
}

ExitCode run_tokenize(const TokenizeCommandOptions& options, const Terminal& terminal) {
  if (!options.jsonl && !options.text) {
    return report_wrong_usage(terminal,
                              invalid_argument("tokenize needs a TEXT, or --jsonl; see sluice tokenize --help"));
  }
  if (!options.jsonl) return tokenize_argument(options, terminal);
  const Status status = tokenize_lines(options, terminal);
  return status.ok() ? finish_output(terminal) : report_failure(terminal, status);
}

void add_detokenize_options(CLI::App& app, DetokenizeCommandOptions& options) {
  add_connection_options(app, options.connection);
  app.add_option("ids", options.ids, "Token ids, \"1 2 3\" or \"1,2,3\"; - reads them from stdin")
      ->type_name("IDS")
      ->required();
  app.add_option("--offline", options.offline_model,
                 "Detokenize with this GGUF file (its tensors may be missing), Hugging Face folder or synthetic:SHAPE, "
                 "without a daemon")
      ->type_name("MODEL");
  app.add_flag("--keep-special", options.keep_special, "Print special tokens by their names");
  app.add_flag("--json", options.json, "Print {\"text\":…}");
}

ExitCode run_detokenize(const DetokenizeCommandOptions& options, const Terminal& terminal) {
  const Result<std::string> argument = read_argument(options.ids, terminal.in);
  if (!argument.ok()) return report_failure(terminal, argument.status());
  const Result<Ids> ids = parse_ids(*argument);
  if (!ids.ok()) return report_wrong_usage(terminal, ids.status());
  const Result<std::string> text = text_of_ids(options, *ids);
  if (!text.ok()) return report_failure(terminal, text.status());
  terminal.out << (options.json ? nlohmann::json{{"text", *text}}.dump() + "\n" : *text);
  return finish_output(terminal);
}

}  // namespace sluice::cli
