#include "engine/cuda/step_results.h"

#include "base/check.h"

namespace sluice::engine::cuda {

Status StepResults::allocate(int32_t samples_max) {
  ArrayLayout layout;
  tokens_ = layout.add<int32_t>(samples_max);
  logprobs_ = layout.add<float>(samples_max);
  top_counts_ = layout.add<int32_t>(samples_max);
  top_tokens_ = layout.add<int32_t>(int64_t{samples_max} * kTopLogprobsRoom);
  top_logprobs_ = layout.add<float>(int64_t{samples_max} * kTopLogprobsRoom);
  SLUICE_ASSIGN_OR_RETURN(memory_, DeviceBuffer::allocate(device_, layout.bytes(), "sampled tokens"));
  for (Flight& flight : flights_) {
    SLUICE_ASSIGN_OR_RETURN(flight.memory, HostBuffer::allocate(device_, layout.bytes(), "sampled tokens"));
    SLUICE_ASSIGN_OR_RETURN(flight.is_here, device_.make_event());
  }
  return {};
}

LogprobRows StepResults::logprobs(int32_t first) const {
  void* memory = memory_.as<void>();
  const int64_t top = int64_t{first} * kTopLogprobsRoom;
  return {.top_logprobs = nullptr,
          .logprob = logprobs_.in(memory) + first,
          .top_count = top_counts_.in(memory) + first,
          .top_token = top_tokens_.in(memory) + top,
          .top_logprob = top_logprobs_.in(memory) + top};
}

template <typename T>
Status StepResults::send_back(const Flight& flight, const ArrayPlace<T>& place, int64_t count) {
  return device_.enqueue_copy_out(place.in(flight.memory.as<void>()), place.in(memory_.as<void>()),
                                  count * static_cast<int64_t>(sizeof(T)));
}

Status StepResults::send(int32_t count, bool has_top) {
  SLUICE_CHECK(sent_ - taken_ < kStepsMax && count <= tokens_.room);
  Flight& flight = flights_[sent_ % kStepsMax];
  flight.count = count;
  flight.has_top = has_top;
  if (count > 0) {
    SLUICE_RETURN_IF_ERROR(send_back(flight, tokens_, count));
    SLUICE_RETURN_IF_ERROR(send_back(flight, logprobs_, count));
  }
  if (count > 0 && has_top) {
    SLUICE_RETURN_IF_ERROR(send_back(flight, top_counts_, count));
    SLUICE_RETURN_IF_ERROR(send_back(flight, top_tokens_, int64_t{count} * kTopLogprobsRoom));
    SLUICE_RETURN_IF_ERROR(send_back(flight, top_logprobs_, int64_t{count} * kTopLogprobsRoom));
  }
  SLUICE_RETURN_IF_ERROR(device_.record(*flight.is_here));
  ++sent_;
  return {};
}

Result<StepOutput> StepResults::take() {
  SLUICE_CHECK(taken_ < sent_);
  const Flight& flight = flights_[taken_++ % kStepsMax];
  SLUICE_RETURN_IF_ERROR(device_.wait(*flight.is_here));
  StepOutput output;
  output.samples.reserve(static_cast<size_t>(flight.count));
  for (int32_t sample = 0; sample < flight.count; ++sample) output.samples.push_back(token_of(flight, sample));
  return output;
}

SampledToken StepResults::token_of(const Flight& flight, int32_t sample) const {
  void* memory = flight.memory.as<void>();
  SampledToken token{.token = tokens_.in(memory)[sample], .logprob = logprobs_.in(memory)[sample]};
  if (!flight.has_top) return token;
  const int32_t count = top_counts_.in(memory)[sample];
  for (int32_t i = 0; i < count; ++i) {
    const int32_t at = sample * kTopLogprobsRoom + i;
    token.top.push_back({top_tokens_.in(memory)[at], top_logprobs_.in(memory)[at]});
  }
  return token;
}

}  // namespace sluice::engine::cuda
