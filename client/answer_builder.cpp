#include "client/answer_builder.h"

namespace sluice::client {
namespace {

/// The protocol's limit of `n`: a broken server must not make us allocate more.
constexpr int32_t kChoicesMax = 64;

}  // namespace

void AnswerBuilder::observe(const v1::CompleteEvent& event) {
  if (event.has_prompt_info()) *answer_.mutable_prompt_info() = event.prompt_info();
  if (event.has_prompt_tokens()) answer_.mutable_prompt_tokens()->MergeFrom(event.prompt_tokens().tokens());
  if (event.has_tokens()) {
    if (v1::Choice* const target = choice(event.tokens().index()); target != nullptr) {
      target->mutable_text()->append(event.tokens().text());
      target->mutable_tokens()->MergeFrom(event.tokens().tokens());
    }
  }
  if (event.has_finished()) observe_finished(event.finished());
  if (event.has_error()) {
    if (event.error().has_usage()) *answer_.mutable_usage() = event.error().usage();
    if (event.error().has_ledger()) *answer_.mutable_ledger() = event.error().ledger();
  }
}

void AnswerBuilder::observe_finished(const v1::Finished& finished) {
  if (v1::Choice* const target = choice(finished.index()); target != nullptr) {
    target->set_reason(finished.reason());
    if (finished.has_stop()) target->set_stop(finished.stop());
    if (finished.has_stop_token_id()) target->set_stop_token_id(finished.stop_token_id());
  }
  if (finished.has_usage()) *answer_.mutable_usage() = finished.usage();
  if (finished.has_ledger()) *answer_.mutable_ledger() = finished.ledger();
}

v1::Choice* AnswerBuilder::choice(int32_t index) {
  if (index < 0 || index >= kChoicesMax) return nullptr;
  while (answer_.choices_size() <= index) answer_.add_choices()->set_index(answer_.choices_size() - 1);
  return answer_.mutable_choices(index);
}

}  // namespace sluice::client
