#include "server/intake.h"

#include <algorithm>
#include <utility>

#include "base/counter_random.h"
#include "server/answer_size.h"

namespace sluice::server {

namespace {

constexpr int64_t kExplainRetryMs = 100;
constexpr int64_t kKeyRetryMs = 1000;

Status closed_status() {
  return unavailable("the daemon is shutting down; send the request to another one");
}

/// INVALID_ARGUMENT for a request that asks for more than its key may; what it leaves open is cut to that.
Status hold_to(const KeyLimits& limits, const v1::CompleteRequest& request, ParsedRequest& parsed) {
  if (!request.has_priority()) {
    parsed.terms.priority = parsed.submission.priority = std::max(parsed.submission.priority, limits.priority);
  } else if (request.priority() < limits.priority) {
    return invalid_field("priority", "must be at least " + std::to_string(limits.priority) + " with this API key");
  }
  if (limits.max_tokens == 0 || parsed.terms.max_tokens <= limits.max_tokens) return {};
  if (request.stopping().has_max_tokens()) {
    return invalid_field("stopping.max_tokens",
                         "must be at most " + std::to_string(limits.max_tokens) + " with this API key");
  }
  parsed.terms.max_tokens = parsed.submission.max_new_tokens = limits.max_tokens;
  return {};
}

}  // namespace

std::string usable_request_id(std::string_view given) {
  constexpr size_t kBytesMax = 128;
  const bool is_printable = std::ranges::all_of(given, [](char c) { return c >= ' ' && c <= '~'; });
  return given.size() <= kBytesMax && is_printable ? std::string(given) : std::string();
}

Intake::Intake(const ServedModel& model, const Access& access, const SessionServices& services, const PromptKeys& keys,
               StreamPool& pool, scheduler::LoopStats& stats, uint64_t seed)
    : model_(model), access_(access), services_(services), keys_(keys), pool_(pool), stats_(stats), seed_(seed) {}

Result<ParsedRequest> Intake::parse(RequestId id, const v1::CompleteRequest& request, const CallTerms& terms) const {
  const RequestOrigin origin{.arrival = services_.clock.now(),
                             .deadline = terms.deadline,
                             .fresh_seed = random_bits(seed_, id.value),
                             .tenant = terms.caller.tenant};
  SLUICE_ASSIGN_OR_RETURN(ParsedRequest parsed, parse_complete_request(request, model_, origin));
  SLUICE_RETURN_IF_ERROR(hold_to(terms.caller.limits, request, parsed));
  parsed.submission.id = id;
  // Apart from what the request's draws depend on: its trace's id is no secret.
  parsed.terms.trace = terms.trace ? *terms.trace : fresh_trace(~seed_, id.value, services_.trace_ratio);
  parsed.terms.client_id = terms.client_id;
  parsed.terms.kind = terms.kind;
  keys_.set(parsed.submission, request.cache_salt());
  return parsed;
}

Status Intake::submit(RequestId id, const v1::CompleteRequest& request, const CallTerms& terms,
                      std::shared_ptr<CompletionSink> sink) {
  if (closed()) return refuse(Outcome::kRefused, closed_status(), terms.caller.tenant);
  Result<ParsedRequest> parsed = parse(id, request, terms);
  if (!parsed.ok()) return refuse(Outcome::kInvalid, parsed.status(), terms.caller.tenant);
  if (const Status fits = check_answer_fits(*parsed, model_, terms.answer_bytes_max); !fits.ok()) {
    return refuse(Outcome::kInvalid, fits, terms.caller.tenant);
  }
  if (terms.caller.use == nullptr) return post(std::move(parsed).value(), {}, std::move(sink));
  const int32_t most = terms.caller.limits.requests;
  std::optional<KeyUse::Lease> lease = terms.caller.use->take(most);
  if (lease) return post(std::move(parsed).value(), std::move(*lease), std::move(sink));
  return refuse(Outcome::kRefused,
                resource_exhausted("this API key may have " + std::to_string(most) + " requests at a time")
                    .with_retry_after_ms(kKeyRetryMs),
                terms.caller.tenant);
}

Status Intake::explain(const v1::CompleteRequest& request, const CallTerms& terms, ExplainSession::Tell tell) {
  if (closed()) return closed_status();
  SLUICE_ASSIGN_OR_RETURN(ParsedRequest parsed, parse(next_id(), request, terms));
  const RequestId id = parsed.submission.id;
  pool_.add(id, std::make_unique<ExplainSession>(std::move(tell)));
  if (services_.mailbox.try_post(scheduler::Explain{std::move(parsed.submission)})) return {};
  pool_.remove(id);
  if (services_.mailbox.closed()) return closed_status();
  return resource_exhausted("too many Explain calls at once; try again later").with_retry_after_ms(kExplainRetryMs);
}

Status Intake::post(ParsedRequest parsed, KeyUse::Lease lease, std::shared_ptr<CompletionSink> sink) {
  const RequestId id = parsed.submission.id;
  const std::string tenant = parsed.terms.tenant;
  pool_.add(id, std::make_unique<CompletionSession>(id, std::move(parsed.terms), services_, std::move(sink),
                                                    std::move(lease)));
  if (services_.mailbox.try_post(std::move(parsed.submission))) return {};
  pool_.remove(id);
  if (services_.mailbox.closed()) return refuse(Outcome::kRefused, closed_status(), tenant);
  stats_.refused.fetch_add(1, std::memory_order_relaxed);
  return refuse(Outcome::kRefused,
                resource_exhausted("the queue is full; try again later")
                    .with_retry_after_ms(stats_.retry_after_ms.load(std::memory_order_relaxed)),
                tenant);
}

Status Intake::refuse(Outcome outcome, Status status, std::optional<std::string_view> tenant) {
  services_.metrics.observe_request({.outcome = outcome, .was_accepted = false, .tenant = tenant});
  return status;
}

void Intake::cancel(RequestId id) {
  services_.mailbox.post(scheduler::Cancel{id, std::nullopt});
}

}  // namespace sluice::server
