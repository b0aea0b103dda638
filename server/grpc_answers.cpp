#include "server/grpc_answers.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/detokenizer.h"
#include "scheduler/shortage.h"
#include "server/request_parser.h"

namespace sluice::server {

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;

/// `unit` is what is counted, in the plural.
Status check_count(std::string field, size_t count, size_t count_max, std::string_view unit) {
  if (count <= count_max) return {};
  return invalid_field(std::move(field), "is " + std::to_string(count) + " " + std::string(unit) +
                                             ", but one call takes " + std::to_string(count_max));
}

Result<std::vector<int32_t>> encode(const ServedModel& model, const v1::TokenizeRequest& request) {
  // Before it is read: that takes one of gRPC's few threads. It bounds the answer too, a token has at least one byte.
  SLUICE_RETURN_IF_ERROR(check_count("text", request.text().size(), kTokenizeBytesMax, "bytes"));
  const auto special = request.parse_special() ? engine::SpecialTokens::kParse : engine::SpecialTokens::kAsText;
  Result<std::vector<int32_t>> ids = request.add_bos() ? encode_prompt(model, request.text(), special)
                                                       : model.tokenizer->encode(request.text(), special);
  if (!ids.ok()) return invalid_field("text", "can't be read: " + ids.status().message());
  return ids;
}

}  // namespace

Status tokenize(const ServedModel& model, const v1::TokenizeRequest& request, v1::TokenizeResponse& response) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, encode(model, request));
  response.mutable_ids()->Add(ids.begin(), ids.end());
  for (const int32_t id : ids) response.add_pieces(std::string(model.tokenizer->token_bytes(id)));
  return {};
}

Status detokenize(const ServedModel& model, const v1::DetokenizeRequest& request, v1::DetokenizeResponse& response) {
  SLUICE_RETURN_IF_ERROR(check_count("ids", static_cast<size_t>(request.ids_size()), kDetokenizeTokensMax, "tokens"));
  SLUICE_RETURN_IF_ERROR(check_token_ids("ids", request.ids(), model.tokenizer->vocab_size()));
  engine::Detokenizer detokenizer(*model.tokenizer, engine::TextExtent::kWhole);
  std::string& text = *response.mutable_text();
  for (const int32_t id : request.ids()) {
    text += request.keep_special() ? detokenizer.push_with_name(id) : detokenizer.push(id);
  }
  text += detokenizer.flush();
  return {};
}

void describe_model(const ServedModel& model, v1::GetModelResponse& response) {
  const engine::Tokenizer& tokenizer = *model.tokenizer;
  response.set_name(model.name);
  response.set_architecture(model.architecture);
  response.set_vocab_size(tokenizer.vocab_size());
  response.set_context_length(model.context_length);
  response.set_parameter_count(model.parameter_count);
  if (const std::optional<int32_t> bos = tokenizer.bos_id()) response.set_bos_id(*bos);
  response.mutable_end_ids()->Add(tokenizer.end_ids().begin(), tokenizer.end_ids().end());
  response.set_device(model.device);
  response.set_version(model.version);
}

void describe_load(const GrpcFront& front, v1::GetLoadResponse& response) {
  const scheduler::LoopStats& stats = front.stats;
  response.set_running_sequences(stats.running.load(kRelaxed));
  response.set_waiting_requests(stats.waiting.load(kRelaxed));
  const scheduler::SchedulerConfig limits = front.limits.current();
  response.set_max_running(limits.max_running);
  response.set_max_queued_requests(limits.max_queued_requests);
  response.set_block_size(front.block_size);
  response.set_waiting_prompt_tokens(stats.waiting_prompt_tokens.load(kRelaxed));
  response.set_waiting_for(
      std::string(scheduler::shortage_name(static_cast<scheduler::Shortage>(stats.waiting_for.load(kRelaxed)))));
  response.set_blocks_cached(stats.blocks_cached.load(kRelaxed));
  response.set_blocks_shared(stats.blocks_shared.load(kRelaxed));
  response.set_pauses(stats.pauses.load(kRelaxed));
  response.set_blocks_total(stats.blocks_total.load(kRelaxed));
  response.set_blocks_used(stats.blocks_used.load(kRelaxed));
  response.set_blocks_reserved(stats.blocks_reserved.load(kRelaxed));
  response.set_steps(stats.steps.load(kRelaxed));
  response.set_prefill_tokens(stats.prefill_tokens.load(kRelaxed));
  response.set_decode_tokens(stats.decode_tokens.load(kRelaxed));
  response.set_preemptions(stats.preemptions.load(kRelaxed));
  response.set_draining(front.intake.closed());
}

void describe_explanation(const scheduler::Explanation& explanation, v1::ExplainResponse& response) {
  response.set_admitted_now(explanation.is_admitted_now);
  response.set_lacks(std::string(scheduler::shortage_name(explanation.shortage)));
  response.set_never_fits(explanation.never_fits);
  response.set_requests_before(explanation.requests_before);
  response.set_prompt_tokens(explanation.prompt_tokens);
  response.set_cached_tokens(explanation.cached_tokens);
  response.set_final_blocks(explanation.final_blocks);
  response.set_free_blocks(explanation.free_blocks);
  response.set_capacity_blocks(explanation.capacity_blocks);
  if (!explanation.times) return;
  response.set_start_ms(to_milliseconds(explanation.times->start));
  response.set_first_token_ms(to_milliseconds(explanation.times->first_token));
  response.set_finish_ms(to_milliseconds(explanation.times->finish));
}

void describe_limits(const scheduler::SchedulerConfig& limits, v1::Limits& response) {
  response.set_max_running(limits.max_running);
  response.set_max_running_per_tenant(limits.max_running_per_tenant);
  response.set_max_queued_requests(limits.max_queued_requests);
  response.set_max_queued_tokens(limits.max_queued_tokens);
  response.set_max_queued_per_tenant(limits.max_queued_per_tenant);
  response.set_tokens_per_step(limits.tokens_per_step);
  response.set_tpot_target_ms(limits.tpot_target_ms);
  response.set_admission(limits.admission);
}

void edit_limits(const v1::Limits& request, scheduler::SchedulerConfig& limits) {
  if (request.has_max_running()) limits.max_running = request.max_running();
  if (request.has_max_running_per_tenant()) limits.max_running_per_tenant = request.max_running_per_tenant();
  if (request.has_max_queued_requests()) limits.max_queued_requests = request.max_queued_requests();
  if (request.has_max_queued_tokens()) limits.max_queued_tokens = request.max_queued_tokens();
  if (request.has_max_queued_per_tenant()) limits.max_queued_per_tenant = request.max_queued_per_tenant();
  if (request.has_tokens_per_step()) limits.tokens_per_step = request.tokens_per_step();
  if (request.has_tpot_target_ms()) limits.tpot_target_ms = request.tpot_target_ms();
  if (request.has_admission()) limits.admission = request.admission();
}

}  // namespace sluice::server
