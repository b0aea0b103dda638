#include "server/otlp_json.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/counter_random.h"

namespace sluice::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kServerSpan = 2;
constexpr int kInternalSpan = 1;
constexpr int kStatusError = 2;

Json attribute(std::string_view key, std::string value) {
  return {{"key", key}, {"value", {{"stringValue", std::move(value)}}}};
}

/// 64-bit numbers are strings in JSON, as protobuf has them.
Json attribute(std::string_view key, int64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}

Json attribute(std::string_view key, Duration value) {
  return {{"key", key}, {"value", {{"doubleValue", to_seconds(value)}}}};
}

bool has_failed(Outcome outcome) {
  return outcome == Outcome::kError || outcome == Outcome::kRefused || outcome == Outcome::kDeadline ||
         outcome == Outcome::kInvalid;
}

/// Writes the spans of one request.
class RequestSpans {
 public:
  RequestSpans(const TracedRequest& traced, const TraceResource& resource)
      : traced_(traced), record_(traced.record), resource_(resource), root_(span_id(0)) {}

  void append_to(Json& spans) const {
    const RequestTiming& timing = record_.timing;
    spans.push_back(root());
    if (!record_.was_accepted) return;
    const TimePoint admitted = timing.arrival + timing.queue;
    spans.push_back(part(1, "queue", timing.arrival, admitted));
    if (record_.usage.completion_tokens == 0) return;
    const TimePoint first = timing.arrival + timing.ttft;
    spans.push_back(part(2, "prefill", std::min(admitted, first), first));
    Json decode = part(3, "decode", first, timing.computed);
    decode["attributes"] = {attribute("sluice.interference_seconds", timing.interference),
                            attribute("sluice.pause_seconds", timing.pause)};
    spans.push_back(std::move(decode));
    spans.push_back(part(4, "delivery", timing.computed, record_.ended));
  }

 private:
  Json root() const {
    Json span = named(record_.is_chat ? "chat " + resource_.model : "text_completion " + resource_.model, root_,
                      kServerSpan, record_.timing.arrival, record_.ended);
    if (record_.trace.has_parent()) span["parentSpanId"] = to_hex(record_.trace.parent_span);
    span["attributes"] = attributes();
    if (has_failed(record_.outcome)) span["status"] = {{"code", kStatusError}, {"message", record_.error}};
    return span;
  }

  Json attributes() const {
    const RequestTiming& timing = record_.timing;
    Json list = {attribute("gen_ai.operation.name", std::string(record_.is_chat ? "chat" : "text_completion")),
                 attribute("gen_ai.provider.name", std::string("sluice")),
                 attribute("gen_ai.request.model", resource_.model),
                 attribute("gen_ai.response.model", resource_.model),
                 attribute("gen_ai.request.max_tokens", int64_t{record_.max_tokens}),
                 attribute("gen_ai.request.choice.count", int64_t{record_.choice_count}),
                 attribute("gen_ai.usage.input_tokens", int64_t{record_.usage.prompt_tokens}),
                 attribute("gen_ai.usage.output_tokens", int64_t{record_.usage.completion_tokens}),
                 attribute("sluice.request.id", static_cast<int64_t>(record_.id.value)),
                 attribute("sluice.tenant", record_.tenant),
                 attribute("sluice.priority", int64_t{record_.priority}),
                 attribute("sluice.outcome", std::string(outcome_name(record_.outcome))),
                 attribute("sluice.cached_tokens", int64_t{record_.usage.cached_tokens})};
    if (!record_.client_id.empty()) list.push_back(attribute("sluice.client_request.id", record_.client_id));
    if (timing.ttft > Duration::zero()) list.push_back(attribute("sluice.time_to_first_token_seconds", timing.ttft));
    if (timing.tpot > Duration::zero()) list.push_back(attribute("sluice.time_per_output_token_seconds", timing.tpot));
    if (has_failed(record_.outcome))
      list.push_back(attribute("error.type", std::string(outcome_name(record_.outcome))));
    return list;
  }

  Json part(uint64_t number, std::string name, TimePoint begin, TimePoint end) const {
    Json span = named(std::move(name), span_id(number), kInternalSpan, begin, end);
    span["parentSpanId"] = to_hex(root_);
    return span;
  }

  Json named(std::string name, const std::array<uint8_t, 8>& id, int kind, TimePoint begin, TimePoint end) const {
    return {{"traceId", to_hex(record_.trace.trace_id)},
            {"spanId", to_hex(id)},
            {"name", std::move(name)},
            {"kind", kind},
            {"startTimeUnixNano", unix_nanos(begin)},
            {"endTimeUnixNano", unix_nanos(std::max(begin, end))}};
  }

  std::string unix_nanos(TimePoint moment) const {
    return std::to_string((traced_.epoch_of_clock + moment.time_since_epoch()).count());
  }

  std::array<uint8_t, 8> span_id(uint64_t number) const {
    const uint64_t word = random_bits(random_bits(traced_.span_seed, record_.id.value), number) | 1U;
    std::array<uint8_t, 8> id{};
    for (size_t i = 0; i < id.size(); ++i) id[i] = static_cast<uint8_t>(word >> (8 * i));
    return id;
  }

  const TracedRequest& traced_;
  const RequestRecord& record_;
  const TraceResource& resource_;
  const std::array<uint8_t, 8> root_;
};

}  // namespace

std::string otlp_json(std::span<const TracedRequest> requests, const TraceResource& resource) {
  Json spans = Json::array();
  for (const TracedRequest& request : requests) RequestSpans(request, resource).append_to(spans);
  const Json scope = {{"scope", {{"name", "sluice"}, {"version", resource.version}}}, {"spans", std::move(spans)}};
  const Json body = {
      {"resourceSpans",
       {{{"resource",
          {{"attributes",
            {attribute("service.name", resource.service_name), attribute("service.version", resource.version)}}}},
         {"scopeSpans", {scope}}}}}};
  // Names of tenants and requests come from outside, and need not be UTF-8.
  return body.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice::server
