#include <nlohmann/json.hpp>

#include "bench/report_output.h"

namespace sluice::bench {
namespace {

using Json = nlohmann::ordered_json;

Json summary_to_json(const Summary& summary) {
  if (summary.count == 0) {
    return {{"count", 0},     {"p50", nullptr},  {"p90", nullptr},  {"p95", nullptr},
            {"p99", nullptr}, {"p999", nullptr}, {"mean", nullptr}, {"max", nullptr}};
  }
  return {{"count", summary.count}, {"p50", summary.p50},   {"p90", summary.p90},   {"p95", summary.p95},
          {"p99", summary.p99},     {"p999", summary.p999}, {"mean", summary.mean}, {"max", summary.max}};
}

template <typename Value>
Json optional_to_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json settings_to_json(const Told& told) {
  const RunConfig& load = told.load;
  return {{"address", told.address},
          {"model", told.model.name},
          {"device", told.model.device},
          {"server_version", told.model.version},
          {"loop", describe_loop(load)},
          {"concurrency", optional_to_json(load.concurrency)},
          {"rate", optional_to_json(load.rate)},
          {"requests", optional_to_json(load.requests)},
          {"seconds", optional_to_json(load.seconds)},
          {"prompt_tokens", load.prompt_tokens.text()},
          {"output_tokens", load.output_tokens ? Json(load.output_tokens->text()) : Json(nullptr)},
          {"shared_prefix_tokens", load.shared_prefix_tokens},
          {"shared_prefix_share", load.shared_prefix_share},
          {"dataset", load.dataset_path.empty() ? Json(nullptr) : Json(load.dataset_path)},
          {"turns", load.turns},
          {"temperature", load.temperature},
          {"warmup", load.warmup},
          {"seed", load.seed}};
}

Json errors_to_json(const Report& report) {
  Json errors = Json::object();
  for (const auto& [code, error] : report.errors_by_code) errors[code] = error.count;
  return errors;
}

Json client_to_json(const ClientLoad& client) {
  return {{"is_limit", !client.limited_because.empty()},
          {"because", client.limited_because.empty() ? Json(nullptr) : Json(client.limited_because)},
          {"slip_p99_ms", client.slip_p99_ms},
          {"cpu_share", client.cpu_share}};
}

Json goodput_to_json(const RunConfig& load, const Report& report) {
  if (!report.goodput) return nullptr;
  const std::optional<bool> passes = verdict(load, report);
  return {{"slo", load.slo.text()},
          {"share", report.goodput->share},
          {"requests", report.goodput->met},
          {"requests_per_second", report.goodput->requests_per_second},
          {"output_tokens_per_second", report.goodput->output_tokens_per_second},
          {"share_asked", load.slo_share},
          {"verdict", passes ? Json(*passes ? "pass" : "fail") : Json(nullptr)}};
}

Json server_to_json(const std::optional<ServerView>& server) {
  if (!server) return nullptr;
  Json comparisons = Json::array();
  for (const Comparison& comparison : server->comparisons) {
    comparisons.push_back({{"name", comparison.name},
                           {"client_ms", comparison.client_ms},
                           {"server_ms", comparison.server_ms},
                           {"tolerance_ms", comparison.tolerance_ms},
                           {"agrees", comparison.agrees()}});
  }
  return {{"answers", server->server_answers},
          {"problem", server->problem.empty() ? Json(nullptr) : Json(server->problem)},
          {"comparisons", std::move(comparisons)}};
}

}  // namespace

std::string report_to_json(const Told& told) {
  const Report& report = told.report;
  const Json json{{"output_tokens_per_second", report.output_tokens_per_second()},
                  {"total_tokens_per_second", report.total_tokens_per_second()},
                  {"requests_per_second", report.requests_per_second()},
                  {"requests", report.requests},
                  {"errors", report.errors},
                  {"errors_by_code", errors_to_json(report)},
                  {"interrupted", report.interrupted},
                  {"short_answers", report.short_answers},
                  {"uncounted_answers", report.uncounted_answers},
                  {"duration_s", report.duration_s},
                  {"prompt_tokens", report.prompt_tokens},
                  {"output_tokens", report.output_tokens},
                  {"ttft_ms", summary_to_json(report.ttft_ms)},
                  {"tpot_ms", summary_to_json(report.tpot_ms)},
                  {"itl_ms", summary_to_json(report.itl_ms)},
                  {"e2e_ms", summary_to_json(report.e2e_ms)},
                  {"slip_ms", summary_to_json(report.slip_ms)},
                  {"error_ms", summary_to_json(report.error_ms)},
                  {"goodput", goodput_to_json(told.load, report)},
                  {"client", client_to_json(report.client)},
                  {"server", server_to_json(told.server)},
                  {"settings", settings_to_json(told)}};
  return json.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace);
}

}  // namespace sluice::bench
