#include "engine/cuda/step_graphs.h"

#include <algorithm>
#include <array>

namespace sluice::engine::cuda {
namespace {

// A product of few rows costs what reading its matrix does, so rows that nobody needs cost little.
constexpr std::array kRowCounts = {1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, StepGraphs::kRowsMax};
// Attention's grid has a place for each part of the longest context (kernels/split_plan.cuh); beyond these there are
// no more parts.
constexpr std::array kContexts = {256, 512, 1024, 2048, 4096, 8192};

/// Those of `values` below `limit`, and the limit or the last of them.
template <size_t kCount>
std::vector<int32_t> up_to(const std::array<int32_t, kCount>& values, int32_t limit) {
  std::vector<int32_t> kept;
  for (const int32_t value : values) {
    kept.push_back(std::min(value, limit));
    if (value >= limit) break;
  }
  return kept;
}

}  // namespace

void StepGraphs::plan(int32_t tokens_max, int32_t context_max) {
  std::vector<int32_t> contexts = up_to(kContexts, context_max);
  contexts.back() = context_max;
  for (const int32_t rows : up_to(kRowCounts, tokens_max)) {
    for (const int32_t context : contexts) {
      shapes_.push_back({.tokens = rows, .rows = rows, .decode_rows = rows, .decode_context = context});
    }
  }
  graphs_.resize(shapes_.size());
}

StepGraphs::Recorded StepGraphs::find(const StepShape& step) const {
  if (step.decode_rows != step.rows) return {};
  for (size_t i = 0; i < shapes_.size(); ++i) {
    const StepShape& shape = shapes_[i];
    const bool holds = step.rows <= shape.rows && step.decode_context <= shape.decode_context;
    if (holds && graphs_[i] != nullptr) return {graphs_[i].get(), shape.rows};
  }
  return {};
}

}  // namespace sluice::engine::cuda
