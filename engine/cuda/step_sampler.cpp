#include "engine/cuda/step_sampler.h"

#include <algorithm>

#include "engine/cuda/kernels/rows.cuh"
#include "engine/cuda/step_graphs.h"

namespace sluice::engine::cuda {
namespace {

constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
/// Samples that a step may have whatever its tokens.
constexpr int32_t kSamplesMin = 1024;

}  // namespace

template <typename Stored>
void StepSampler<Stored>::plan(ActivationId in, MatrixId head) {
  const int32_t width = arena_.width(in);
  room_ = {.samples = std::max(arena_.tokens_max(), kSamplesMin),
           .rows = std::min(arena_.tokens_max(), StepGraphs::kRowsMax),
           .vocab_size = weights_.matrix(head).rows};
  arena_.plan({.uses = {in},
               .writes = {},
               .scratch = {{Scratch::kColumns, MatrixProducts<Stored>::column_bytes(room_.rows, width)},
                           {Scratch::kNumbers, products_.number_bytes(room_.rows, head)},
                           {Scratch::kGathered, int64_t{room_.rows} * width * kFloatBytes},
                           {Scratch::kLogits, int64_t{room_.rows} * room_.vocab_size * kFloatBytes},
                           {Scratch::kCandidates, DeviceSampler::scratch_bytes(room_)}}});
}

template <typename Stored>
Status StepSampler<Stored>::allocate() {
  SLUICE_RETURN_IF_ERROR(sampler_.allocate(room_));
  return drawn_tokens_.allocate(arena_.tokens_max(), room_.vocab_size);
}

template <typename Stored>
void StepSampler<Stored>::take_drawn(int32_t rows, StepStatus& status) const {
  drawn_tokens_.take(inputs_, rows, has_drawn_ ? sampler_.drawn() : nullptr, status);
}

template <typename Stored>
void StepSampler<Stored>::compute_logits(const Head& head, int32_t first, int32_t rows, StepStatus& status) const {
  auto* gathered = arena_.scratch<float>(Scratch::kGathered);
  status.add_launch(launch_gather_rows(gathered, static_cast<const float*>(arena_.data(head.in)),
                                       inputs_.sampled_tokens() + first, rows, arena_.width(head.in), device_.stream()),
                    "gather_rows");
  products_.normalize(gathered, head.norm, rows, head.matrix, status);
  products_.multiply(head.matrix, rows, {.out = arena_.scratch<float>(Scratch::kLogits)}, status);
}

template <typename Stored>
void StepSampler<Stored>::draw(const Head& head, std::span<const SampleRow> samples, bool has_logits,
                               StepStatus& status) {
  auto* logits = arena_.scratch<float>(Scratch::kLogits);
  auto* scratch = arena_.scratch<void>(Scratch::kCandidates);
  const auto count = static_cast<int32_t>(samples.size());
  for (int32_t first = 0; first < count; first += room_.rows) {
    const int32_t rows = std::min(room_.rows, count - first);
    if (!has_logits) compute_logits(head, first, rows, status);
    sampler_.draw(samples.subspan(static_cast<size_t>(first), static_cast<size_t>(rows)), first, logits, scratch,
                  status);
  }
  sampler_.send(samples, status);
  has_drawn_ = !samples.empty();
}

template class StepSampler<float>;
template class StepSampler<gpu::Bf16>;

}  // namespace sluice::engine::cuda
