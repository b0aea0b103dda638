#include "server/flags.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "server/config_draft.h"
#include "server/config_file.h"

namespace sluice::server {
namespace {

/// A flag that is a shorthand for one key.
struct KeyFlag {
  const char* name;
  const char* full_key;
  const char* value;  // what it takes, for the help
  const char* help;
};

constexpr std::array kKeyFlags{
    KeyFlag{"--model", "model.path", "PATH", "GGUF file, Hugging Face folder or synthetic:SHAPE[:TYPE] to serve"},
    KeyFlag{"--grpc-listen", "server.grpc_listen", "HOST:PORT", "of the gRPC API; port 0 picks a free one"},
    KeyFlag{"--http-listen", "server.http_listen", "HOST:PORT", "of the HTTP API, metrics and health; the same"},
    KeyFlag{"--admin-listen", "server.admin_listen", "HOST:PORT", "of the control API; the same"},
    KeyFlag{"--device", "engine.device", "DEVICE", "auto, cpu, cuda or cuda:N"},
    KeyFlag{"--threads", "engine.threads", "N", "compute threads; 0 takes the cores this process may use"},
    KeyFlag{"--cpu-isa", "engine.cpu_isa", "ISA", "auto, portable, avx2, avx512 or amx"},
    KeyFlag{"--tp", "engine.tensor_parallel", "N",
            "ranks that share the model; N divides heads, KV heads and feed-forward width"},
};

/// One value for one key, as the command line gives it.
struct Setting {
  std::string flag;
  std::string full_key;
  std::string value;
};

struct Usage {
  std::vector<std::string> files;
  std::vector<Setting> settings;  // in the order of the command line
  bool check_config = false;
  bool verify_model = false;
};

EarlyExit refusal(const std::string& problem) {
  return {.code = 2, .text = "sluiced: " + problem + '\n'};
}

Status add_set(const std::string& assignment, std::vector<Setting>& settings) {
  const size_t equals = assignment.find('=');
  if (equals == std::string::npos || assignment.find('.') > equals)
    return invalid_argument("--set: must be section.key=value, not \"" + shown(assignment) + '"');
  settings.push_back({"--set", assignment.substr(0, equals), assignment.substr(equals + 1)});
  return {};
}

/// CLI11 groups the values by option; its parse order puts them back in the order they were given.
Status order_settings(const CLI::App& app, std::vector<Setting>& settings) {
  std::map<const CLI::Option*, size_t> taken;
  for (const CLI::Option* const option : app.parse_order()) {
    const std::string name = option->get_name();
    const auto* const flag =
        std::find_if(kKeyFlags.begin(), kKeyFlags.end(), [&](const KeyFlag& f) { return f.name == name; });
    if (flag == kKeyFlags.end() && name != "--set") continue;
    const std::string& value = option->results().at(taken[option]++);
    if (flag != kKeyFlags.end()) {
      settings.push_back({name, flag->full_key, value});
    } else {
      SLUICE_RETURN_IF_ERROR(add_set(value, settings));
    }
  }
  return {};
}

std::variant<Usage, EarlyExit> parse_usage(std::span<const char* const> arguments, std::string_view version) {
  CLI::App app("The Sluice inference daemon: serves one model over gRPC.", "sluiced");
  Usage usage;
  app.set_version_flag("--version", "sluiced " + std::string(version));
  app.add_option("--config", usage.files, "YAML file; see configs/default.yaml for every key")
      ->allow_extra_args(false)
      ->option_text("FILE");
  app.add_flag("--check-config", usage.check_config, "print the configuration that would be used, and exit");
  app.add_flag("--verify-model", usage.verify_model,
               "load the model, look at every weight, run a step, print what it is, and exit");
  // The values are read back in their order, not here.
  std::vector<std::string> unused;
  for (const KeyFlag& flag : kKeyFlags)
    app.add_option(flag.name, unused, std::string(flag.help) + " (" + flag.full_key + ")")
        ->allow_extra_args(false)
        ->option_text(flag.value);
  app.add_option("--set", unused, "any key, any number of times")
      ->allow_extra_args(false)
      ->option_text("SECTION.KEY=VALUE");
  try {
    // CLI11 takes its arguments from the back.
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::CallForHelp&) {
    return EarlyExit{.code = 0, .text = app.help()};
  } catch (const CLI::CallForVersion& call) {
    return EarlyExit{.code = 0, .text = std::string(call.what()) + '\n'};
  } catch (const CLI::ParseError& error) {
    return refusal(shown(error.what(), 200) + "; sluiced --help lists the flags");
  }
  if (const Status status = order_settings(app, usage.settings); !status.ok()) return refusal(status.message());
  return usage;
}

Result<Config> build_config(const Usage& usage) {
  ConfigDraft draft;
  if (usage.files.size() > 1)
    return invalid_argument("--config: is given twice; one file holds the whole configuration");
  for (const std::string& file : usage.files) SLUICE_RETURN_IF_ERROR(read_config_file(file, draft));
  for (const Setting& setting : usage.settings)
    SLUICE_RETURN_IF_ERROR(draft.assign(setting.full_key, {.text = setting.value}, setting.flag));
  return draft.finish();
}

}  // namespace

CommandLine parse_command_line(std::span<const char* const> arguments, std::string_view version) {
  std::variant<Usage, EarlyExit> parsed = parse_usage(arguments, version);
  if (EarlyExit* const early = std::get_if<EarlyExit>(&parsed)) return std::move(*early);
  const Usage& usage = std::get<Usage>(parsed);
  Result<Config> config = build_config(usage);
  if (!config.ok()) return refusal(config.status().message());
  if (usage.check_config) return EarlyExit{.code = 0, .text = effective_config(*config)};
  if (config->model.path.empty()) return refusal("no model to serve: give --model PATH or set model.path");
  if (usage.verify_model) return VerifyModel{std::move(*config)};
  return std::move(*config);
}

}  // namespace sluice::server
