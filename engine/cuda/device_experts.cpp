#include "engine/cuda/device_experts.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/cuda/cuda_support.h"
#include "engine/cuda/kernels/add_experts.cuh"
#include "engine/cuda/kernels/group_by_expert.cuh"
#include "engine/cuda/kernels/grouped_product.cuh"
#include "engine/cuda/kernels/route_tokens.cuh"

namespace sluice::engine::cuda {

static_assert(kRoutedExpertsMax == kExpertCountMax && kRoutedPerTokenMax == kExpertsPerTokenMax);

template <typename Stored>
Result<ExpertsId> DeviceExperts<Stored>::add(Experts experts) {
  SLUICE_RETURN_IF_ERROR(check_experts(experts.count(), experts.per_token));
  SLUICE_CHECK(experts.per_token >= 1 && experts.per_token <= experts.count() && matrices_.bytes() == 0);
  const DeviceMatrix& down = weights_.matrix(experts.downs.front());
  Layer layer{.experts = {}, .width = down.rows, .ffn_width = down.length, .first_matrix = matrix_count_};
  const DeviceMatrix& router = weights_.matrix(experts.router);
  SLUICE_CHECK(router.rows == experts.count() && router.length == layer.width);
  weights_.keep_unrounded(experts.router);
  for (int32_t expert = 0; expert < experts.count(); ++expert) {
    const MatrixId gate_up = experts.gate_ups.at(static_cast<size_t>(expert));
    const MatrixId own_down = experts.downs[static_cast<size_t>(expert)];
    SLUICE_CHECK(weights_.matrix(gate_up).rows == 2 * layer.ffn_width &&
                 weights_.matrix(gate_up).length == layer.width);
    SLUICE_CHECK(weights_.matrix(own_down).rows == layer.width && weights_.matrix(own_down).length == layer.ffn_width);
    weights_.keep_unrounded(gate_up);
    weights_.keep_unrounded(own_down);
  }
  matrix_count_ += 2 * int64_t{experts.count()};
  layer.experts = std::move(experts);
  layers_.push_back(std::move(layer));
  return ExpertsId{static_cast<int32_t>(layers_.size()) - 1};
}

template <typename Stored>
Status DeviceExperts<Stored>::allocate() {
  if (layers_.empty()) return {};
  std::vector<const Stored*> matrices;
  const auto add_all = [&](const std::vector<MatrixId>& ids) {
    for (const MatrixId id : ids) matrices.push_back(weights_.matrix(id).elements.template as<const Stored>());
  };
  for (const Layer& layer : layers_) {
    add_all(layer.experts.gate_ups);
    add_all(layer.experts.downs);
  }
  const auto bytes = static_cast<int64_t>(matrices.size() * sizeof(const Stored*));
  SLUICE_ASSIGN_OR_RETURN(matrices_, DeviceBuffer::allocate(device_, bytes, "addresses of experts"));
  return device_.copy_in(matrices_.as<void>(), matrices.data(), bytes);
}

template <typename Stored>
DeviceExperts<Stored>::Routing::Routing(const Experts& experts, int32_t tokens)
    : row_count(tokens * experts.per_token),
      tile_rows(grouped_tile_rows<Stored>(row_count, experts.count())),
      scores(layout.add<float>(int64_t{tokens} * experts.count())),
      chosen(layout.add<int32_t>(row_count)),
      weights(layout.add<float>(row_count)),
      rows_of(layout.add<int32_t>(row_count)),
      tokens_of(layout.add<int32_t>(row_count)),
      tiles(layout.add<ExpertTile>(expert_tiles_max(row_count, experts.count(), tile_rows))) {}

template <typename Stored>
typename DeviceExperts<Stored>::Room DeviceExperts<Stored>::room(ExpertsId id, int32_t tokens_max) const {
  const Layer& of = layer(id);
  const int64_t rows = int64_t{tokens_max} * of.experts.per_token;
  // Fewer tokens may have more tiles, as theirs are smaller.
  int64_t routing = Routing(of.experts, tokens_max).layout.bytes();
  const int32_t few_tokens = std::min(tokens_max, kFewTileRows * of.experts.count() / of.experts.per_token);
  routing = std::max(routing, Routing(of.experts, few_tokens).layout.bytes());
  return {.routing = routing,
          .gated = rows * of.ffn_width * static_cast<int64_t>(sizeof(Stored)),
          .rows = rows * of.width * static_cast<int64_t>(sizeof(float))};
}

template <typename Stored>
void DeviceExperts<Stored>::run(ExpertsId id, const float* residual, const NormWeight& norm, const int32_t* slots,
                                int32_t tokens, float* out, StepStatus& status) const {
  const Layer& of = layer(id);
  const Routing routing(of.experts, tokens);
  products_.normalize(residual, norm, tokens, of.experts.router, status);
  route(of, routing, slots, tokens, status);
  multiply(of, routing, status);
  auto* memory = arena_.scratch<void>(Scratch::kRouting);
  status.add_launch(launch_add_experts({.added = out == residual ? residual : nullptr,
                                        .rows = arena_.scratch<float>(Scratch::kExpertRows),
                                        .rows_of = routing.rows_of.in(memory),
                                        .weights = routing.weights.in(memory),
                                        .out = out,
                                        .tokens = tokens,
                                        .per_token = of.experts.per_token,
                                        .width = of.width},
                                       device_.stream()),
                    "add_experts");
}

/// Of tokens whose columns are there.
template <typename Stored>
void DeviceExperts<Stored>::route(const Layer& layer, const Routing& routing, const int32_t* slots, int32_t tokens,
                                  StepStatus& status) const {
  auto* memory = arena_.scratch<void>(Scratch::kRouting);
  products_.multiply(layer.experts.router, tokens, {.out = routing.scores.in(memory)}, status);
  status.add_launch(launch_route_tokens({.scores = routing.scores.in(memory),
                                         .slots = slots,
                                         .chosen = routing.chosen.in(memory),
                                         .weights = routing.weights.in(memory),
                                         .tokens = tokens,
                                         .experts = layer.experts.count(),
                                         .per_token = layer.experts.per_token,
                                         .sums_to_one = layer.experts.sums_to_one},
                                        device_.stream()),
                    "route_tokens");
  status.add_launch(launch_group_by_expert({.chosen = routing.chosen.in(memory),
                                            .tokens_of = routing.tokens_of.in(memory),
                                            .rows_of = routing.rows_of.in(memory),
                                            .tiles = routing.tiles.in(memory),
                                            .rows = routing.row_count,
                                            .per_token = layer.experts.per_token,
                                            .experts = layer.experts.count(),
                                            .tile_rows = routing.tile_rows},
                                           device_.stream()),
                    "group_by_expert");
}

/// What goes into the experts is what went into the router, so it is in the columns already.
template <typename Stored>
void DeviceExperts<Stored>::multiply(const Layer& layer, const Routing& routing, StepStatus& status) const {
  auto* memory = arena_.scratch<void>(Scratch::kRouting);
  auto* gated = arena_.scratch<Stored>(Scratch::kExpertGated);
  const Stored* const* gate_ups = matrices_.as<const Stored* const>() + layer.first_matrix;
  const GroupedProductArgs<Stored, Stored> gate_up{.in = arena_.scratch<Stored>(Scratch::kColumns),
                                                   .tokens_of = routing.tokens_of.in(memory),
                                                   .matrices = gate_ups,
                                                   .tiles = routing.tiles.in(memory),
                                                   .out = gated,
                                                   .tile_count = static_cast<int32_t>(routing.tiles.room),
                                                   .outputs = layer.ffn_width,
                                                   .length = layer.width,
                                                   .activation = layer.experts.activation};
  status.add_launch(launch_grouped_product<true>(gate_up, routing.tile_rows, device_.stream()), "grouped_product");
  const GroupedProductArgs<Stored, float> down{.in = gated,
                                               .tokens_of = nullptr,
                                               .matrices = gate_ups + layer.experts.count(),
                                               .tiles = routing.tiles.in(memory),
                                               .out = arena_.scratch<float>(Scratch::kExpertRows),
                                               .tile_count = static_cast<int32_t>(routing.tiles.room),
                                               .outputs = layer.width,
                                               .length = layer.ffn_width};
  status.add_launch(launch_grouped_product<false>(down, routing.tile_rows, device_.stream()), "grouped_product");
}

template class DeviceExperts<float>;
template class DeviceExperts<gpu::Bf16>;

}  // namespace sluice::engine::cuda
