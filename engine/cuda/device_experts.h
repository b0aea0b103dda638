#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/activation_arena.h"
#include "engine/cuda/array_layout.h"
#include "engine/cuda/device.h"
#include "engine/cuda/device_weights.h"
#include "engine/cuda/kernels/expert_tile.cuh"
#include "engine/cuda/kernels/norm_weight.cuh"
#include "engine/cuda/matrix_products.h"
#include "engine/cuda/step_status.h"

namespace sluice::engine::cuda {

/// The experts of all layers; runs those of one layer over the tokens of a step. Their matrices and the router's stay
/// `Stored` where others are rounded to fp8. Grids and memory follow from the count of tokens alone, whatever experts
/// they take, and the host is told nothing: so a step can be recorded. What a token gets depends on its own scores.
template <typename Stored>
class DeviceExperts {
 public:
  /// All are lent.
  DeviceExperts(Device& device, DeviceWeights& weights, const ActivationArena& arena,
                const MatrixProducts<Stored>& products)
      : device_(device), weights_(weights), arena_(arena), products_(products) {}

  /// See Backend::add_experts; before the weights have their memory. FAILED_PRECONDITION for more experts than there
  /// are kernels for.
  Result<ExpertsId> add(Experts experts);
  /// The addresses of matrices, once these have their memory; RESOURCE_EXHAUSTED when the device is full.
  Status allocate();
  /// That allocate() took.
  int64_t bytes() const { return matrices_.bytes(); }

  /// What run() takes of the arena, beside the columns of products with the residual.
  struct Room {
    int64_t routing = 0;  ///< bytes of Scratch::kRouting
    int64_t gated = 0;    ///< and of Scratch::kExpertGated
    int64_t rows = 0;     ///< and of Scratch::kExpertRows
  };
  Room room(ExpertsId id, int32_t tokens_max) const;

  /// out[t] = the weighted sum of what its experts make of rms_norm(residual[t]), added to residual[t] where out is the
  /// residual; [tokens, width]. Tokens whose slot is below 0 are nobody's, and never the first.
  void run(ExpertsId id, const float* residual, const NormWeight& norm, const int32_t* slots, int32_t tokens,
           float* out, StepStatus& status) const;

 private:
  struct Layer {
    Experts experts;
    int32_t width = 0;
    int32_t ffn_width = 0;
    int64_t first_matrix = 0;  ///< place of the first expert's gate_up in matrices_; all of them, then all downs
  };
  /// Where Scratch::kRouting has what a step's tokens have chosen. Rows are choices, sorted by expert.
  struct Routing {
    Routing(const Experts& experts, int32_t tokens);

    int32_t row_count = 0;
    int32_t tile_rows = 0;
    ArrayLayout layout;
    ArrayPlace<float> scores;       // [tokens, experts]
    ArrayPlace<int32_t> chosen;     // [tokens, per_token]
    ArrayPlace<float> weights;      // [tokens, per_token]
    ArrayPlace<int32_t> rows_of;    // [tokens, per_token]
    ArrayPlace<int32_t> tokens_of;  // [rows]
    ArrayPlace<ExpertTile> tiles;   // as many as there may be
  };

  const Layer& layer(ExpertsId id) const { return layers_.at(static_cast<size_t>(id.index)); }
  void route(const Layer& layer, const Routing& routing, const int32_t* slots, int32_t tokens,
             StepStatus& status) const;
  void multiply(const Layer& layer, const Routing& routing, StepStatus& status) const;

  Device& device_;
  DeviceWeights& weights_;
  const ActivationArena& arena_;
  const MatrixProducts<Stored>& products_;
  std::vector<Layer> layers_;
  int64_t matrix_count_ = 0;
  DeviceBuffer matrices_;  // const Stored* [matrix_count_]
};

}  // namespace sluice::engine::cuda
