#include "cli/terminal.h"

namespace sluice::cli {

ExitCode report_failure(const Terminal& terminal, const Status& status) {
  terminal.out.flush();
  terminal.err << "sluice: " << status;
  if (status.retry_after_ms() > 0) terminal.err << " (try again in " << status.retry_after_ms() << " ms)";
  terminal.err << std::endl;
  return kFailed;
}

ExitCode report_wrong_usage(const Terminal& terminal, const Status& status) {
  terminal.err << "sluice: " << status.message() << std::endl;
  return kWrongUsage;
}

ExitCode finish_output(const Terminal& terminal) {
  terminal.out.flush();
  if (terminal.out.good()) return kFine;
  return report_failure(terminal, unavailable("writing to stdout failed"));
}

}  // namespace sluice::cli
