#include "engine/cuda/device_sampler.h"

#include <algorithm>

#include "engine/cuda/kernels/draw_tokens.cuh"
#include "engine/cuda/kernels/penalties.cuh"
#include "engine/cuda/kernels/token_logprobs.cuh"

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kFloatBytes = sizeof(float);

/// What the kernels say of a tile's rows, fetched at once.
struct Results {
  int32_t tokens[DeviceSampler::kRowsMax];
  float logprobs[DeviceSampler::kRowsMax];
  int32_t top_counts[DeviceSampler::kRowsMax];
  int32_t top_tokens[DeviceSampler::kRowsMax][kTopLogprobsRoom];
  float top_logprobs[DeviceSampler::kRowsMax][kTopLogprobsRoom];
};

SampledToken token_of(const Results& results, int32_t row) {
  SampledToken sampled{.token = results.tokens[row], .logprob = results.logprobs[row]};
  for (int32_t i = 0; i < results.top_counts[row]; ++i) {
    sampled.top.push_back({results.top_tokens[row][i], results.top_logprobs[row][i]});
  }
  return sampled;
}

}  // namespace

Status DeviceSampler::reserve(const HeadSize& head) {
  if (head.width * kRowsMax * kFloatBytes > gathered_.bytes()) {
    const int64_t bytes = head.width * kRowsMax * kFloatBytes;
    SLUICE_ASSIGN_OR_RETURN(gathered_, DeviceBuffer::allocate(device_, bytes, "sampled rows"));
  }
  if (head.vocab_size > vocab_size_max_) {
    const int64_t places = int64_t{head.vocab_size} * kRowsMax;
    constexpr int64_t kRoomBytes = sizeof(int32_t) + sizeof(uint32_t) + sizeof(float);
    SLUICE_ASSIGN_OR_RETURN(logits_, DeviceBuffer::allocate(device_, places * kFloatBytes, "logits"));
    SLUICE_ASSIGN_OR_RETURN(room_, DeviceBuffer::allocate(device_, places * kRoomBytes, "candidates"));
    SLUICE_ASSIGN_OR_RETURN(results_, DeviceBuffer::allocate(device_, sizeof(Results), "sampled tokens"));
    vocab_size_max_ = head.vocab_size;
  }
  return {};
}

StepOutput DeviceSampler::sample(const Batch& batch, const StepInputs& inputs, const HeadSize& head,
                                 const ComputeLogits& compute_logits, StepStatus& status) {
  StepOutput output;
  output.samples.reserve(batch.samples.size());
  const auto count = static_cast<int32_t>(batch.samples.size());
  for (int32_t begin = 0; begin < count && status.first().ok(); begin += kRowsMax) {
    const int32_t rows = std::min(kRowsMax, count - begin);
    const std::span<const SampleRow> samples(&batch.samples[static_cast<size_t>(begin)], static_cast<size_t>(rows));
    compute_logits(inputs.sampled_tokens() + begin, rows, gathered_.as<float>(), logits_.as<float>());
    draw(upload(samples, head.vocab_size, status), status);
    collect(rows, output, status);
  }
  return output;
}

DeviceSampler::Rows DeviceSampler::upload(std::span<const SampleRow> samples, int32_t vocab_size, StepStatus& status) {
  sampling_.fill(samples, vocab_size);
  arrays_.clear();
  const auto temperature = arrays_.put(sampling_.temperature);
  const auto inverse_temperature = arrays_.put(sampling_.inverse_temperature);
  const auto top_k = arrays_.put(sampling_.top_k);
  const auto top_p = arrays_.put(sampling_.top_p);
  const auto min_p = arrays_.put(sampling_.min_p);
  const auto min_p_depth = arrays_.put(sampling_.min_p_depth);
  const auto unit = arrays_.put(sampling_.unit);
  const auto scored_token = arrays_.put(sampling_.scored_token);
  const auto top_logprobs = arrays_.put(sampling_.top_logprobs);
  const auto repetition = arrays_.put(sampling_.repetition);
  const auto presence = arrays_.put(sampling_.presence);
  const auto frequency = arrays_.put(sampling_.frequency);
  const auto history_begin = arrays_.put(sampling_.history_begin);
  const auto history_token = arrays_.put(sampling_.history_token);
  const auto history_count = arrays_.put(sampling_.history_count);
  const auto history_logit = arrays_.reserve<float>(sampling_.history_token.size());
  const auto bias_begin = arrays_.put(sampling_.bias_begin);
  const auto bias_token = arrays_.put(sampling_.bias_token);
  const auto bias = arrays_.put(sampling_.bias);
  const auto bias_logit = arrays_.reserve<float>(sampling_.bias_token.size());
  status.add(arrays_.upload());
  auto* results = results_.as<Results>();
  return {.logits = {logits_.as<float>(), static_cast<int32_t>(samples.size()), vocab_size},
          .draws = {.temperature = arrays_.at<const float>(temperature),
                    .inverse_temperature = arrays_.at<const float>(inverse_temperature),
                    .top_k = arrays_.at<const int32_t>(top_k),
                    .top_p = arrays_.at<const float>(top_p),
                    .min_p = arrays_.at<const float>(min_p),
                    .min_p_depth = arrays_.at<const double>(min_p_depth),
                    .unit = arrays_.at<const double>(unit),
                    .scored_token = arrays_.at<const int32_t>(scored_token)},
          .penalties = {.repetition = arrays_.at<const float>(repetition),
                        .presence = arrays_.at<const float>(presence),
                        .frequency = arrays_.at<const float>(frequency),
                        .history_begin = arrays_.at<const int32_t>(history_begin),
                        .history_token = arrays_.at<const int32_t>(history_token),
                        .history_count = arrays_.at<const int32_t>(history_count),
                        .history_logit = arrays_.at<float>(history_logit),
                        .bias_begin = arrays_.at<const int32_t>(bias_begin),
                        .bias_token = arrays_.at<const int32_t>(bias_token),
                        .bias = arrays_.at<const float>(bias),
                        .bias_logit = arrays_.at<float>(bias_logit)},
          .logprobs = {.top_logprobs = arrays_.at<const int32_t>(top_logprobs),
                       .logprob = results->logprobs,
                       .top_count = results->top_counts,
                       .top_token = &results->top_tokens[0][0],
                       .top_logprob = &results->top_logprobs[0][0]},
          .tokens = results->tokens};
}

void DeviceSampler::draw(const Rows& rows, StepStatus& status) {
  if (!status.first().ok()) return;  // there may be no rows on the device
  const gpu::Launch how{.grid = {static_cast<uint32_t>(rows.logits.rows)},
                        .block = {kSamplingThreads},
                        .shared_bytes = sampling_shared_bytes(rows.logits.vocab_size),
                        .stream = device_.stream()};
  const int64_t places = int64_t{vocab_size_max_} * kRowsMax;
  auto* tokens = room_.as<int32_t>();
  const CandidateRoom room{tokens, reinterpret_cast<uint32_t*>(tokens + places),
                           reinterpret_cast<float*>(tokens + 2 * places)};
  const int32_t* drawn = rows.tokens;
  if (sampling_.has_changes()) {
    status.add_launch(gpu::launch<apply_penalties>(how, rows.logits, rows.penalties), "apply_penalties");
  }
  status.add_launch(gpu::launch<draw_tokens>(how, rows.logits, GrammarMasks{}, rows.draws, room, rows.tokens),
                    "draw_tokens");
  if (sampling_.has_changes()) {
    status.add_launch(gpu::launch<undo_penalties>(how, rows.logits, rows.penalties), "undo_penalties");
  }
  status.add_launch(gpu::launch<token_logprobs>(how, rows.logits, rows.draws, drawn, room, rows.logprobs),
                    "token_logprobs");
}

void DeviceSampler::collect(int32_t rows, StepOutput& output, StepStatus& status) {
  Results results;
  status.add(device_.copy_out(&results, results_.as<void>(), sizeof(results)));
  if (!status.first().ok()) return;
  for (int32_t row = 0; row < rows; ++row) output.samples.push_back(token_of(results, row));
}

}  // namespace sluice::engine::cuda
