#include "cli/explain_command.h"

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string verdict(const v1::ExplainResponse& answer) {
  if (answer.never_fits()) return "refused: it needs more KV blocks than there are";
  if (answer.admitted_now()) return "starts at once";
  if (answer.lacks() == "queue") return "refused: the queue is full";
  if (answer.lacks() == "order") return "waits for those before it";
  if (answer.lacks() == "kv") return "waits for KV blocks";
  if (answer.lacks() == "rows") return "waits for a free row (scheduler.max_running)";
  if (answer.lacks() == "tenant") return "waits for its tenant's other sequences (scheduler.max_running_per_tenant)";
  if (answer.lacks() == "prefix") return "waits for a prompt with the same beginning, to share it";
  return "waits (" + answer.lacks() + ")";
}

std::string in_ms(double value) {
  return std::to_string(std::llround(value)) + " ms";
}

void print(std::ostream& out, const v1::ExplainResponse& answer) {
  out << "now        " << verdict(answer) << '\n'
      << "before it  " << answer.requests_before() << " waiting requests\n"
      << "prompt     " << answer.prompt_tokens() << " tokens, " << answer.cached_tokens() << " of them in the cache\n"
      << "KV blocks  " << answer.final_blocks() << " at its last token; " << answer.free_blocks() << " free of "
      << answer.capacity_blocks() << '\n';
  if (answer.has_start_ms()) {
    out << "predicted  start in " << in_ms(answer.start_ms()) << ", first token in " << in_ms(answer.first_token_ms())
        << ", last in " << in_ms(answer.finish_ms()) << '\n';
  } else if (!answer.never_fits()) {
    out << "predicted  unknown until the daemon has computed a few steps\n";
  }
}

Json to_json(const v1::ExplainResponse& answer) {
  Json json{{"admitted_now", answer.admitted_now()},      {"lacks", answer.lacks()},
            {"never_fits", answer.never_fits()},          {"requests_before", answer.requests_before()},
            {"prompt_tokens", answer.prompt_tokens()},    {"cached_tokens", answer.cached_tokens()},
            {"final_blocks", answer.final_blocks()},      {"free_blocks", answer.free_blocks()},
            {"capacity_blocks", answer.capacity_blocks()}};
  json["start_ms"] = answer.has_start_ms() ? Json(answer.start_ms()) : Json(nullptr);
  json["first_token_ms"] = answer.has_first_token_ms() ? Json(answer.first_token_ms()) : Json(nullptr);
  json["finish_ms"] = answer.has_finish_ms() ? Json(answer.finish_ms()) : Json(nullptr);
  return json;
}

Result<v1::ExplainResponse> ask(const CompleteOptions& options, std::istream& in) {
  SLUICE_ASSIGN_OR_RETURN(const v1::CompleteRequest request, to_request(options, in));
  SLUICE_ASSIGN_OR_RETURN(const auto daemon, connect(options.connection));
  SLUICE_RETURN_IF_ERROR(await_daemon(*daemon, options.connection));
  return daemon->explain(request, call_options(options.connection));
}

}  // namespace

ExitCode run_explain(const CompleteOptions& options, const Terminal& terminal) {
  const Result<v1::ExplainResponse> answer = ask(options, terminal.in);
  if (!answer.ok()) return report_failure(terminal, answer.status());
  if (options.json) {
    terminal.out << to_json(*answer).dump() << '\n';
  } else {
    print(terminal.out, *answer);
  }
  return finish_output(terminal);
}

}  // namespace sluice::cli
