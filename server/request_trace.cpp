#include "server/request_trace.h"

#include <cerrno>
#include <cstring>

#include <nlohmann/json.hpp>

namespace sluice::server {

Result<std::unique_ptr<RequestTrace>> RequestTrace::open(const std::string& path, WallClock wall_clock) {
  std::FILE* const file = std::fopen(path.c_str(), "ae");
  if (file == nullptr)
    return invalid_field("log.trace_path", "can't be written: " + path + ": " + std::strerror(errno));
  return std::unique_ptr<RequestTrace>(new RequestTrace(file, std::move(wall_clock)));
}

void RequestTrace::note(const RequestRecord& record) {
  const Duration since_arrival = record.ended - record.timing.arrival;
  const auto arrival = wall_clock_().time_since_epoch() - since_arrival;
  nlohmann::ordered_json line = {{"arrival", std::chrono::duration<double>(arrival).count()},
                                 {"prompt_tokens", record.usage.prompt_tokens},
                                 {"max_tokens", record.max_tokens},
                                 {"completion_tokens", record.usage.completion_tokens},
                                 {"cached_tokens", record.usage.cached_tokens},
                                 {"n", record.choice_count},
                                 {"priority", record.priority},
                                 {"tenant", record.tenant},
                                 {"outcome", std::string(outcome_name(record.outcome))},
                                 {"seconds", to_seconds(since_arrival)}};
  if (record.until_deadline) line["deadline_ms"] = to_milliseconds(*record.until_deadline);
  if (stats_ != nullptr) {
    const scheduler::StepPriceStats& prices = stats_->step_prices;
    line["step_ms"] = {{"fixed", prices.fixed_ms.load()},
                       {"prefill_token", prices.prefill_token_ms.load()},
                       {"decode_row", prices.decode_row_ms.load()},
                       {"context_token", prices.context_token_ms.load()},
                       {"prefill_pair", prices.prefill_pair_ms.load()}};
  }
  const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + '\n';
  std::fwrite(text.data(), 1, text.size(), file_.get());
  std::fflush(file_.get());
}

}  // namespace sluice::server
