#include "server/metrics.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <sstream>
#include <vector>

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "engine/utf8.h"
#include "server/loop_metrics.h"

namespace sluice::server {
namespace {

using Bounds = prometheus::Histogram::BucketBoundaries;

// Upper bounds in seconds. Each list holds every bound that vLLM has for the same quantity, so its dashboards'
// quantiles stay comparable, and adds finer ones at the low end, where a small model lives.
const Bounds kFirstTokenBounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
                               1,     2.5,   5,    7.5,  10,   20,   40,   80,  160,  640, 2560};
const Bounds kTokenBounds{0.001, 0.002, 0.003, 0.004, 0.006, 0.008, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                          0.3,   0.4,   0.5,   0.75,  1,     2.5,   5,    7.5,   10,   20,    40,  80};
const Bounds kRequestBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1,   1.5,  2,   2.5,
                            5,     10,     15,    20,   30,    40,   50,  60,  120, 240, 480, 960, 1920, 7680};

constexpr std::array kOutcomes{Outcome::kStop,  Outcome::kLength,  Outcome::kCancelled, Outcome::kDeadline,
                               Outcome::kError, Outcome::kRefused, Outcome::kInvalid};

/// Seconds, never below zero: the two moments may come from different threads' clock readings.
double seconds(Duration duration) {
  return to_seconds(std::max(duration, Duration::zero()));
}

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 const Bounds& bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, bounds);
}

prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStop:
      return "stop";
    case Outcome::kLength:
      return "length";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kDeadline:
      return "deadline";
    case Outcome::kError:
      return "error";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kInvalid:
      return "invalid";
  }
  SLUICE_CHECK(false);
}

struct Metrics::Families {
  explicit Families(const scheduler::LoopStats& lent_stats) : stats(lent_stats) {
    auto& requests = prometheus::BuildCounter()
                         .Name("sluice_requests_total")
                         .Help("Requests that ended, by how they did.")
                         .Register(registry);
    // All outcomes are there from the start: a rate over a series that appears with its first event misses that event.
    for (const Outcome outcome : kOutcomes)
      outcomes.push_back(&requests.Add({{"outcome", std::string(outcome_name(outcome))}}));
  }

  const scheduler::LoopStats& stats;
  prometheus::Registry registry;
  std::vector<prometheus::Counter*> outcomes;  // in the order of Outcome

  prometheus::Histogram& first_token =
      histogram(registry, "sluice_time_to_first_token_seconds",
                "From a request's arrival to its first token, in seconds, queue included.", kFirstTokenBounds);
  prometheus::Histogram& per_output_token =
      histogram(registry, "sluice_time_per_output_token_seconds",
                "(last - first token) / (tokens - 1) of a sequence that ended with two tokens or more, in seconds.",
                kTokenBounds);
  prometheus::Histogram& token_gap = histogram(registry, "sluice_inter_token_latency_seconds",
                                               "Each gap between two tokens of a sequence, in seconds.", kTokenBounds);
  prometheus::Histogram& queue =
      histogram(registry, "sluice_request_queue_seconds",
                "From a request's arrival to its admission, or to its end when it was never admitted, in seconds.",
                kRequestBounds);
  prometheus::Histogram& prefill =
      histogram(registry, "sluice_request_prefill_seconds",
                "From a request's admission to its first token, in seconds.", kRequestBounds);
  prometheus::Histogram& decode =
      histogram(registry, "sluice_request_decode_seconds",
                "After its first token, in steps that computed decode rows only, in seconds.", kRequestBounds);
  prometheus::Histogram& interference =
      histogram(registry, "sluice_request_interference_seconds",
                "After its first token, in steps that also computed somebody's prompt, in seconds.", kRequestBounds);
  prometheus::Histogram& pause =
      histogram(registry, "sluice_request_pause_seconds",
                "After its first token, left out of steps for want of KV blocks, in seconds.", kRequestBounds);
  prometheus::Histogram& delivery = histogram(
      registry, "sluice_request_delivery_seconds",
      "From its last token computed to its end told: what its reader and connection took, in seconds.", kRequestBounds);
  prometheus::Histogram& end_to_end =
      histogram(registry, "sluice_request_end_to_end_seconds",
                "From a request's arrival to its end, in seconds; requests that ran to a stop or to their length.",
                kRequestBounds);
  prometheus::Counter& prompt_tokens =
      counter(registry, "sluice_prompt_tokens_total", "Prompt tokens of requests that ended after being accepted.");
  prometheus::Counter& generated_tokens = counter(registry, "sluice_generated_tokens_total",
                                                  "Tokens answered to requests that ended after being accepted.");
};

Metrics::Metrics(const scheduler::LoopStats& stats, std::string_view version, std::string_view model,
                 std::string_view device)
    : families_(std::make_unique<Families>(stats)) {
  // One byte of a model file's name that is no UTF-8 would make Prometheus drop the whole scrape.
  const auto label = [](std::string_view text) { return engine::sanitize_utf8(text); };
  prometheus::BuildGauge()
      .Name("sluice_build_info")
      .Help("Always 1; what runs is in the labels.")
      .Register(families_->registry)
      .Add({{"version", label(version)}, {"model", label(model)}, {"device", label(device)}})
      .Set(1);
}

Metrics::~Metrics() = default;

void Metrics::observe_first_token(Duration ttft) {
  families_->first_token.Observe(seconds(ttft));
}

void Metrics::observe_token_gap(Duration gap) {
  families_->token_gap.Observe(seconds(gap));
}

void Metrics::observe_sequence(const scheduler::Ledger& ledger) {
  if (ledger.output_tokens < 2) return;
  families_->per_output_token.Observe(seconds(ledger.last_token - ledger.first_token) / (ledger.output_tokens - 1));
}

void Metrics::observe_ledger(const scheduler::Ledger& ledger, Duration delivery) {
  families_->prefill.Observe(seconds(ledger.prefill));
  families_->decode.Observe(seconds(ledger.decode));
  families_->interference.Observe(seconds(ledger.interference));
  families_->pause.Observe(seconds(ledger.pause));
  families_->delivery.Observe(seconds(delivery));
}

void Metrics::observe_request(Outcome outcome, int64_t prompt_tokens, int64_t output_tokens, Duration queue,
                              Duration end_to_end) {
  Families& families = *families_;
  families.outcomes[static_cast<size_t>(outcome)]->Increment();
  if (outcome == Outcome::kRefused || outcome == Outcome::kInvalid) return;
  families.prompt_tokens.Increment(static_cast<double>(prompt_tokens));
  families.generated_tokens.Increment(static_cast<double>(output_tokens));
  families.queue.Observe(seconds(queue));
  if (outcome == Outcome::kStop || outcome == Outcome::kLength) families.end_to_end.Observe(seconds(end_to_end));
}

std::string Metrics::scrape() const {
  std::vector<prometheus::MetricFamily> families = families_->registry.Collect();
  std::vector<prometheus::MetricFamily> loop = loop_metrics(families_->stats);
  std::move(loop.begin(), loop.end(), std::back_inserter(families));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace sluice::server
