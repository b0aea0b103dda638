#include "server/intake.h"

#include <utility>

#include "base/counter_random.h"
#include "server/answer_size.h"

namespace sluice::server {

namespace {

Status closed_status() {
  return unavailable("the daemon is shutting down; send the request to another one");
}

}  // namespace

Intake::Intake(const ServedModel& model, const SessionServices& services, StreamPool& pool, scheduler::LoopStats& stats,
               uint64_t seed)
    : model_(model), services_(services), pool_(pool), stats_(stats), seed_(seed) {}

Status Intake::submit(RequestId id, const v1::CompleteRequest& request, const CallLimits& limits,
                      std::shared_ptr<CompletionSink> sink) {
  if (closed()) return refuse(Outcome::kRefused, closed_status());
  const RequestOrigin origin{
      .arrival = services_.clock.now(), .deadline = limits.deadline, .fresh_seed = random_bits(seed_, id.value)};
  Result<ParsedRequest> parsed = parse_complete_request(request, model_, origin);
  if (!parsed.ok()) return refuse(Outcome::kInvalid, parsed.status());
  if (const Status fits = check_answer_fits(*parsed, model_, limits.answer_bytes_max); !fits.ok()) {
    return refuse(Outcome::kInvalid, fits);
  }
  return post(id, std::move(parsed).value(), std::move(sink));
}

Status Intake::post(RequestId id, ParsedRequest parsed, std::shared_ptr<CompletionSink> sink) {
  parsed.submission.id = id;
  pool_.add(id, std::make_unique<CompletionSession>(id, std::move(parsed.terms), services_, std::move(sink)));
  if (services_.mailbox.try_post(std::move(parsed.submission))) return {};
  pool_.remove(id);
  if (services_.mailbox.closed()) return refuse(Outcome::kRefused, closed_status());
  stats_.refused.fetch_add(1, std::memory_order_relaxed);
  return refuse(Outcome::kRefused, resource_exhausted("the queue is full; try again later")
                                       .with_retry_after_ms(stats_.retry_after_ms.load(std::memory_order_relaxed)));
}

Status Intake::refuse(Outcome outcome, Status status) {
  services_.metrics.observe_request(outcome, 0, 0, Duration{}, Duration{});
  return status;
}

void Intake::cancel(RequestId id) {
  services_.mailbox.post(scheduler::Cancel{id, std::nullopt});
}

}  // namespace sluice::server
