#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "bench/experiments/batch_size_collapse.h"
#include "bench/html_report.h"
#include "bench/trace_file.h"

namespace {

using namespace sluice;

struct Files {
  std::string html;
  std::string json;
  std::string trace;
};

void add_options(CLI::App& app, bench::CollapseConfig& config, Files& files) {
  app.add_option("--max-running", config.max_running, "Batch sizes to try; a list a,b,c")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  app.add_option("--rate", config.rate, "Arrivals per second, Poisson")->capture_default_str();
  app.add_option("--requests", config.requests, "Arrivals in all")->capture_default_str();
  app.add_option("--prompt-tokens", config.prompt_tokens, "On average")->capture_default_str();
  app.add_option("--output-tokens", config.output_tokens, "Of each answer")->capture_default_str();
  app.add_option("--max-queued-requests", config.max_queued_requests, "More are refused")->capture_default_str();
  app.add_option("--tokens-per-step", config.tokens_per_step, "Tokens in one step")->capture_default_str();
  app.add_option("--blocks", config.block_count, "KV blocks")->capture_default_str();
  app.add_option("--block-size", config.block_size, "Tokens in a block")->capture_default_str();
  app.add_option("--seed", config.seed, "Of the arrivals")->capture_default_str();
  app.add_option("--trace", files.trace, "Take the prices of steps from what a daemon wrote with log.trace_path")
      ->type_name("FILE");
  app.add_option("--report", files.html, "Also write an HTML page with plots")->type_name("FILE");
  app.add_option("--json", files.json, "Also write the figures")->type_name("FILE");
}

Status run(bench::CollapseConfig& config, const Files& files, const std::string& command_line) {
  SLUICE_RETURN_IF_ERROR(bench::check_writable("--report", files.html));
  SLUICE_RETURN_IF_ERROR(bench::check_writable("--json", files.json));
  if (!files.trace.empty()) {
    SLUICE_ASSIGN_OR_RETURN(const bench::Trace trace, bench::read_trace(files.trace));
    config.prices = trace.prices;
  }
  const bench::CollapseResult result = bench::run_collapse(config);
  std::cout << bench::collapse_text(config, result) << std::flush;
  SLUICE_RETURN_IF_ERROR(bench::write_file(files.json, bench::collapse_json(config, result)));
  return bench::write_file(files.html, bench::collapse_html(config, result, command_line));
}

}  // namespace

int main(int argc, char** argv) {
  bench::CollapseConfig config;
  Files files;
  CLI::App app("The same overload with growing batches, under a naive admission and under `plan`, in simulated time.");
  add_options(app, config, files);
  CLI11_PARSE(app, argc, argv);
  std::string command_line = "bench/experiments/batch-size-collapse";
  for (int index = 1; index < argc; ++index) command_line += " " + std::string(argv[index]);
  if (const Status status = config.validate(); !status.ok()) {
    std::cerr << "batch-size-collapse: " << status.message() << std::endl;
    return 2;
  }
  const Status status = run(config, files, command_line);
  if (!status.ok()) std::cerr << "batch-size-collapse: " << status << std::endl;
  return status.ok() ? 0 : 1;
}
