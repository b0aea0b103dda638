#include <nlohmann/json.hpp>

#include "bench/report_output.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

Json summary_to_json(const Summary& summary) {
  if (summary.count == 0) {
    return {{"p50", nullptr}, {"p90", nullptr}, {"p99", nullptr}, {"mean", nullptr}, {"max", nullptr}};
  }
  return {
      {"p50", summary.p50}, {"p90", summary.p90}, {"p99", summary.p99}, {"mean", summary.mean}, {"max", summary.max}};
}

template <typename Value>
Json optional_to_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json settings_to_json(const RunConfig& config, const std::string& address, const ServedModel& model) {
  return {{"address", address},
          {"model", model.name},
          {"device", model.device},
          {"server_version", model.version},
          {"concurrency", optional_to_json(config.concurrency)},
          {"rate", optional_to_json(config.rate)},
          {"requests", optional_to_json(config.requests)},
          {"seconds", optional_to_json(config.seconds)},
          {"prompt_tokens_min", config.prompt_tokens.min},
          {"prompt_tokens_max", config.prompt_tokens.max},
          {"output_tokens", config.output_tokens},
          {"temperature", config.temperature},
          {"warmup", config.warmup},
          {"seed", config.seed}};
}

Json errors_to_json(const Report& report) {
  Json errors = Json::object();
  for (const auto& [code, error] : report.errors_by_code) errors[code] = error.count;
  return errors;
}

}  // namespace

std::string report_to_json(const RunConfig& config, const std::string& address, const ServedModel& model,
                           const Report& report) {
  const Json json{{"output_tokens_per_second", report.output_tokens_per_second()},
                  {"total_tokens_per_second", report.total_tokens_per_second()},
                  {"requests", report.requests},
                  {"errors", report.errors},
                  {"errors_by_code", errors_to_json(report)},
                  {"interrupted", report.interrupted},
                  {"short_answers", report.short_answers},
                  {"duration_s", report.duration_s},
                  {"prompt_tokens", report.prompt_tokens},
                  {"output_tokens", report.output_tokens},
                  {"ttft_ms", summary_to_json(report.ttft_ms)},
                  {"tpot_ms", summary_to_json(report.tpot_ms)},
                  {"itl_ms", summary_to_json(report.itl_ms)},
                  {"e2e_ms", summary_to_json(report.e2e_ms)},
                  {"slip_ms", summary_to_json(report.slip_ms)},
                  {"error_ms", summary_to_json(report.error_ms)},
                  {"settings", settings_to_json(config, address, model)}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace sluice::bench
