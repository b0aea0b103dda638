#include "engine/cuda/device_sampler.h"

#include <algorithm>

#include "base/check.h"
#include "engine/cuda/kernels/draw_tokens.cuh"
#include "engine/cuda/kernels/penalties.cuh"
#include "engine/cuda/kernels/token_logprobs.cuh"

namespace sluice::engine::cuda {
namespace {

/// A row has at most the vocabulary's; with more, rows of long histories still go together.
constexpr int32_t kChangesMin = 1 << 16;

int32_t blocks_for(const SamplerRoom& room) {
  return std::min(room.rows, DeviceSampler::kBlocksMax);
}

}  // namespace

int64_t DeviceSampler::scratch_bytes(const SamplerRoom& room) {
  constexpr int64_t kCandidateBytes = sizeof(int32_t) + sizeof(uint32_t) + sizeof(float);
  return int64_t{blocks_for(room)} * room.vocab_size * kCandidateBytes;
}

Status DeviceSampler::allocate(const SamplerRoom& room) {
  room_ = room;
  changes_ = std::max(room.vocab_size, kChangesMin);
  ArrayLayout layout;
  const auto add = [&layout]<typename T>(ArrayPlace<T>& place, int32_t count) { place = layout.add<T>(count); };
  const auto add_all = [&add](int32_t count, auto&... places) { (add(places, count), ...); };
  Places& to = places_;
  add_all(room.rows, to.temperature, to.inverse_temperature, to.top_k, to.top_p, to.min_p, to.min_p_depth, to.unit,
          to.scored_token, to.top_logprobs, to.repetition, to.presence, to.frequency);
  add_all(room.rows + 1, to.history_begin, to.bias_begin);
  add_all(changes_, to.history_token, to.history_count, to.bias_token, to.bias);
  staged_bytes_ = layout.bytes();
  add_all(changes_, to.history_logit, to.bias_logit);
  SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, layout.bytes(), "what rows are sampled by"));
  SLUICE_ASSIGN_OR_RETURN(ring_, UploadRing::create(device_, staged_bytes_, "what rows are sampled by"));
  return results_.allocate(room.samples);
}

/// How many of the samples, one at least, make no more changes than there is room for.
size_t DeviceSampler::fitting(std::span<const SampleRow> samples) const {
  int64_t history = 0;
  int64_t biases = 0;
  size_t count = 0;
  for (const SampleRow& row : samples) {
    history += SamplingInputs::history_max(row, room_.vocab_size);
    biases += static_cast<int64_t>(row.params->logit_bias.size());
    if (count > 0 && std::max(history, biases) > changes_) break;
    ++count;
  }
  return count;
}

void DeviceSampler::draw(std::span<const SampleRow> samples, int32_t first, float* logits, void* scratch,
                         StepStatus& status) {
  SLUICE_CHECK(static_cast<int64_t>(samples.size()) <= room_.rows);
  while (!samples.empty() && status.first().ok()) {
    const size_t count = fitting(samples);
    draw_fitting(samples.first(count), first, logits, scratch, status);
    samples = samples.subspan(count);
    first += static_cast<int32_t>(count);
    logits += static_cast<int64_t>(count) * room_.vocab_size;
  }
}

void DeviceSampler::draw_fitting(std::span<const SampleRow> samples, int32_t first, float* logits, void* scratch,
                                 StepStatus& status) {
  inputs_.fill(samples, room_.vocab_size);
  status.add(upload());
  if (!status.first().ok()) return;  // there may be no rows on the device
  const auto rows = static_cast<int32_t>(samples.size());
  const auto launch_of = [&](int32_t blocks) {
    return gpu::Launch{.grid = {static_cast<uint32_t>(blocks)},
                       .block = {kSamplingThreads},
                       .shared_bytes = sampling_shared_bytes(room_.vocab_size),
                       .stream = device_.stream()};
  };
  const gpu::Launch one_each = launch_of(rows);
  const gpu::Launch shared = launch_of(std::min(rows, blocks_for(room_)));
  const int64_t places = int64_t{blocks_for(room_)} * room_.vocab_size;
  auto* tokens = static_cast<int32_t*>(scratch);
  const CandidateRoom candidates{tokens, reinterpret_cast<uint32_t*>(tokens + places),
                                 reinterpret_cast<float*>(tokens + 2 * places)};
  const LogitBatch batch{logits, rows, room_.vocab_size};
  int32_t* drawn = results_.tokens(first);
  LogprobRows logprobs = results_.logprobs(first);
  logprobs.top_logprobs = places_.top_logprobs.in(memory_.as<void>());
  if (inputs_.has_changes()) {
    status.add_launch(gpu::launch<apply_penalties>(one_each, batch, penalty_rows()), "apply_penalties");
  }
  status.add_launch(gpu::launch<draw_tokens>(shared, batch, GrammarMasks{}, draw_rows(), candidates, drawn),
                    "draw_tokens");
  if (inputs_.has_changes()) {
    status.add_launch(gpu::launch<undo_penalties>(one_each, batch, penalty_rows()), "undo_penalties");
  }
  status.add_launch(
      gpu::launch<token_logprobs>(shared, batch, draw_rows(), static_cast<const int32_t*>(drawn), candidates, logprobs),
      "token_logprobs");
}

void DeviceSampler::send(std::span<const SampleRow> samples, StepStatus& status) {
  if (!status.first().ok()) return;
  const bool has_top =
      std::any_of(samples.begin(), samples.end(), [](const SampleRow& row) { return row.params->top_logprobs > 0; });
  status.add(results_.send(static_cast<int32_t>(samples.size()), has_top));
}

Status DeviceSampler::upload() {
  SLUICE_ASSIGN_OR_RETURN(void* staged, ring_->begin());
  stage(staged);
  SLUICE_RETURN_IF_ERROR(ring_->send(memory_.as<void>(), 0, places_.history_token.offset));
  SLUICE_RETURN_IF_ERROR(send_changes());
  return ring_->end();
}

void DeviceSampler::stage(void* staged) const {
  places_.temperature.put(staged, inputs_.temperature);
  places_.inverse_temperature.put(staged, inputs_.inverse_temperature);
  places_.top_k.put(staged, inputs_.top_k);
  places_.top_p.put(staged, inputs_.top_p);
  places_.min_p.put(staged, inputs_.min_p);
  places_.min_p_depth.put(staged, inputs_.min_p_depth);
  places_.unit.put(staged, inputs_.unit);
  places_.scored_token.put(staged, inputs_.scored_token);
  places_.top_logprobs.put(staged, inputs_.top_logprobs);
  places_.repetition.put(staged, inputs_.repetition);
  places_.presence.put(staged, inputs_.presence);
  places_.frequency.put(staged, inputs_.frequency);
  places_.history_begin.put(staged, inputs_.history_begin);
  places_.bias_begin.put(staged, inputs_.bias_begin);
  places_.history_token.put(staged, inputs_.history_token);
  places_.history_count.put(staged, inputs_.history_count);
  places_.bias_token.put(staged, inputs_.bias_token);
  places_.bias.put(staged, inputs_.bias);
}

/// Only what there is of them: they have room for many.
Status DeviceSampler::send_changes() {
  const auto send = [this](const auto& place, size_t count) {
    const auto bytes = static_cast<int64_t>(count * sizeof(*place.in(nullptr)));
    return ring_->send(memory_.as<std::byte>() + place.offset, place.offset, bytes);
  };
  SLUICE_RETURN_IF_ERROR(send(places_.history_token, inputs_.history_token.size()));
  SLUICE_RETURN_IF_ERROR(send(places_.history_count, inputs_.history_count.size()));
  SLUICE_RETURN_IF_ERROR(send(places_.bias_token, inputs_.bias_token.size()));
  return send(places_.bias, inputs_.bias.size());
}

DrawRows DeviceSampler::draw_rows() const {
  void* memory = memory_.as<void>();
  return {.temperature = places_.temperature.in(memory),
          .inverse_temperature = places_.inverse_temperature.in(memory),
          .top_k = places_.top_k.in(memory),
          .top_p = places_.top_p.in(memory),
          .min_p = places_.min_p.in(memory),
          .min_p_depth = places_.min_p_depth.in(memory),
          .unit = places_.unit.in(memory),
          .scored_token = places_.scored_token.in(memory)};
}

PenaltyRows DeviceSampler::penalty_rows() const {
  void* memory = memory_.as<void>();
  return {.repetition = places_.repetition.in(memory),
          .presence = places_.presence.in(memory),
          .frequency = places_.frequency.in(memory),
          .history_begin = places_.history_begin.in(memory),
          .history_token = places_.history_token.in(memory),
          .history_count = places_.history_count.in(memory),
          .history_logit = places_.history_logit.in(memory),
          .bias_begin = places_.bias_begin.in(memory),
          .bias_token = places_.bias_token.in(memory),
          .bias = places_.bias.in(memory),
          .bias_logit = places_.bias_logit.in(memory)};
}

}  // namespace sluice::engine::cuda
