#include "engine/softmax.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/check.h"

namespace sluice::engine {
namespace {

// A draw looks at the sums of chunks first and then at the single weights of one chunk only.
constexpr size_t kChunk = kLogitChunk;

template <typename T>
std::span<T> chunk_at(std::span<T> values, size_t chunk) {
  const size_t begin = chunk * kChunk;
  return values.subspan(begin, std::min(kChunk, values.size() - begin));
}

size_t chunk_count(size_t count) {
  return (count + kChunk - 1) / kChunk;
}

double weigh_chunk(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                   float* weights) {
  return kernels.weigh(logits.data(), static_cast<int32_t>(logits.size()), scale, weights);
}

/// In independent lanes: one sum alone would wait for every addition.
double sum_chunk(std::span<const float> chunk) {
  std::array<double, 8> lanes{};
  size_t i = 0;
  for (; i + lanes.size() <= chunk.size(); i += lanes.size()) {
    for (size_t j = 0; j < lanes.size(); ++j) lanes[j] += static_cast<double>(chunk[i + j]);
  }
  for (size_t j = 0; i < chunk.size(); ++i, ++j) lanes[j] += static_cast<double>(chunk[i]);
  return std::accumulate(lanes.begin(), lanes.end(), 0.0);
}

struct DrawnChunk {
  size_t chunk = 0;
  double target = 0;  ///< within the chunk
};

/// The chunk in which the running sum passes `target`, else the last of positive sum: rounding may leave the target
/// behind.
template <typename SumOf>
DrawnChunk draw_chunk(size_t count, double target, const SumOf& sum_of) {
  DrawnChunk drawn;
  for (size_t chunk = 0; chunk < count; ++chunk) {
    const double sum = sum_of(chunk);
    if (sum <= 0) continue;
    drawn = {chunk, target};
    if (target < sum) break;
    target -= sum;
  }
  return drawn;
}

/// The same for the weights of one chunk.
size_t draw_from_chunk(std::span<const float> chunk, double target) {
  size_t drawn = 0;
  double passed = 0;
  for (size_t i = 0; i < chunk.size(); ++i) {
    if (chunk[i] <= 0.0F) continue;
    drawn = i;
    passed += static_cast<double>(chunk[i]);
    if (target < passed) break;
  }
  return drawn;
}

}  // namespace

double weigh_all(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                 std::span<float> weights) {
  SLUICE_CHECK(weights.size() == logits.size());
  double sum = 0;
  for (size_t chunk = 0; chunk < chunk_count(logits.size()); ++chunk) {
    sum += weigh_chunk(chunk_at(logits, chunk), scale, kernels, chunk_at(weights, chunk).data());
  }
  return sum;
}

double sum_weights(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                   std::vector<double>& chunk_sums) {
  std::array<float, kChunk> weights;
  chunk_sums.resize(chunk_count(logits.size()));
  for (size_t chunk = 0; chunk < chunk_sums.size(); ++chunk) {
    chunk_sums[chunk] = weigh_chunk(chunk_at(logits, chunk), scale, kernels, weights.data());
  }
  return std::accumulate(chunk_sums.begin(), chunk_sums.end(), 0.0);
}

size_t draw_index(std::span<const float> weights, double unit) {
  const auto sum_of = [&](size_t chunk) { return sum_chunk(chunk_at(weights, chunk)); };
  const size_t chunks = chunk_count(weights.size());
  double sum = 0;
  for (size_t chunk = 0; chunk < chunks; ++chunk) sum += sum_of(chunk);
  const DrawnChunk drawn = draw_chunk(chunks, unit * sum, sum_of);
  return drawn.chunk * kChunk + draw_from_chunk(chunk_at(weights, drawn.chunk), drawn.target);
}

size_t draw_index(std::span<const float> logits, const LogitScale& scale, const LogitKernels& kernels,
                  std::span<const double> chunk_sums, double unit) {
  const double sum = std::accumulate(chunk_sums.begin(), chunk_sums.end(), 0.0);
  const DrawnChunk drawn = draw_chunk(chunk_sums.size(), unit * sum, [&](size_t chunk) { return chunk_sums[chunk]; });
  const std::span<const float> chunk = chunk_at(logits, drawn.chunk);
  std::array<float, kChunk> weights;
  weigh_chunk(chunk, scale, kernels, weights.data());
  return drawn.chunk * kChunk + draw_from_chunk(std::span(weights).first(chunk.size()), drawn.target);
}

}  // namespace sluice::engine
