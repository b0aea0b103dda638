#include "bench/subcommand.h"

namespace sluice::bench {

ExitCode exit_code_of(const Output& output, const Status& valid, const std::function<Result<ExitCode>()>& run) {
  if (!valid.ok()) {
    output.err << "sluice-bench: " << valid.message() << std::endl;
    return kWrongUsage;
  }
  const Result<ExitCode> result = run();
  if (result.ok()) return *result;
  output.err << "sluice-bench: " << result.status() << std::endl;
  return kFailed;
}

}  // namespace sluice::bench
