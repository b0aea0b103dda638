#include "cli/answer_printer.h"

#include <iomanip>
#include <sstream>

#include "cli/answer_json.h"

namespace sluice::cli {
namespace {

std::string milliseconds(Duration duration) {
  std::ostringstream text;
  text << std::fixed << std::setprecision(1) << to_milliseconds(duration) << " ms";
  return text.str();
}

}  // namespace

void print_event(std::ostream& out, const v1::CompleteEvent& event) {
  for (const v1::Token& token : event.prompt_tokens().tokens()) out << token.bytes();
  out << event.tokens().text() << std::flush;
}

void print_choices(std::ostream& out, const v1::CompleteResponse& answer) {
  for (const v1::Choice& choice : answer.choices()) out << '[' << choice.index() << "] " << choice.text() << '\n';
}

void print_summary(std::ostream& err, const v1::CompleteResponse& answer, const client::StreamTiming& timing) {
  // The text need not end with a newline, and stdout gets nothing but the text.
  err << '\n' << timing.completion_tokens << (timing.completion_tokens == 1 ? " token" : " tokens");
  const bool has_ended = !answer.choices().empty() && answer.choices(0).reason() != v1::FINISH_REASON_UNSPECIFIED;
  if (has_ended) err << ", " << finish_reason_name(answer.choices(0).reason());
  if (timing.ttft) err << ", TTFT " << milliseconds(*timing.ttft);
  if (timing.tpot) err << ", TPOT " << milliseconds(*timing.tpot);
  err << ", " << std::fixed << std::setprecision(1) << tokens_per_second(timing) << " tokens/s" << std::endl;
}

}  // namespace sluice::cli
