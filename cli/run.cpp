#include "cli/run.h"

#include <CLI/CLI.hpp>

#include "cli/chat_command.h"
#include "cli/complete_command.h"
#include "cli/explain_command.h"
#include "cli/limits_command.h"
#include "cli/render_command.h"
#include "cli/status_commands.h"
#include "cli/token_commands.h"

namespace sluice::cli {
namespace {

struct AllOptions {
  CompleteOptions complete;
  ChatOptions chat;
  TokenizeCommandOptions tokenize;
  DetokenizeCommandOptions detokenize;
  RenderCommandOptions render;
  StatusCommandOptions load;
  StatusCommandOptions models;
  ConnectionOptions health;
  CompleteOptions explain;
  LimitsOptions limits;
};

void add_commands(CLI::App& app, AllOptions& options) {
  app.set_version_flag("--version", "sluice " SLUICE_VERSION);
  app.require_subcommand(1);
  add_complete_options(*app.add_subcommand("complete", "Continue a prompt; streams the text to stdout"),
                       options.complete);
  add_chat_options(*app.add_subcommand("chat", "Talk with the model, by its own chat template"), options.chat);
  add_tokenize_options(*app.add_subcommand("tokenize", "Text to token ids"), options.tokenize);
  add_detokenize_options(*app.add_subcommand("detokenize", "Token ids to text"), options.detokenize);
  add_render_options(*app.add_subcommand("render", "A conversation to the text that the model reads"), options.render);
  add_status_options(*app.add_subcommand("load", "How busy the daemon is"), options.load);
  add_status_options(*app.add_subcommand("models", "What the daemon serves"), options.models);
  add_connection_options(*app.add_subcommand("health", "Whether the daemon serves; exit code 0 if it does"),
                         options.health);
  add_complete_options(
      *app.add_subcommand("explain", "Would this request start now, and when is it predicted to? Nothing is computed"),
      options.explain);
  add_limits_options(*app.add_subcommand("limits", "Show or change what bounds the daemon's work, while it serves"),
                     options.limits);
}

ExitCode run_command(const std::string& name, const AllOptions& options, const Terminal& terminal, const Clock& clock,
                     std::chrono::system_clock::time_point now) {
  if (name == "complete") return run_complete(options.complete, terminal, clock);
  if (name == "chat") return run_chat(options.chat, terminal, clock);
  if (name == "tokenize") return run_tokenize(options.tokenize, terminal);
  if (name == "detokenize") return run_detokenize(options.detokenize, terminal);
  if (name == "render") return run_render(options.render, terminal, now);
  if (name == "health") return run_health(options.health, terminal);
  if (name == "load") return run_load(options.load, terminal);
  if (name == "explain") return run_explain(options.explain, terminal);
  if (name == "limits") return run_limits(options.limits, terminal);
  return run_models(options.models, terminal);
}

}  // namespace

int run(const std::vector<std::string>& arguments, const Terminal& terminal, const Clock& clock,
        std::chrono::system_clock::time_point now) {
  CLI::App app("The Sluice client: asks a running sluiced.", "sluice");
  AllOptions options;
  add_commands(app, options);
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, terminal.out, terminal.err) == 0 ? kFine : kWrongUsage;
  }
  return run_command(app.get_subcommands().front()->get_name(), options, terminal, clock, now);
}

}  // namespace sluice::cli
