#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "engine/batch.h"
#include "engine/kv_layout.h"
#include "engine/machine_limits.h"
#include "engine/memory_use.h"
#include "engine/model_config.h"

namespace sluice::engine {

struct StoredTensor;

/// Weights [outputs, inputs] held by a backend.
struct MatrixId {
  int32_t index = -1;
};
/// A float32 vector held by a backend: norm weights, a bias.
struct VectorId {
  int32_t index = -1;
  bool exists() const { return index >= 0; }
};
/// A float32 buffer [tokens, width] held by a backend.
struct ActivationId {
  int32_t index = -1;
};
/// Rotary angles of one kind held by a backend.
struct RopeId {
  int32_t index = -1;
};
/// Experts of one layer held by a backend.
struct ExpertsId {
  int32_t index = -1;
};

/// Rotary position embedding (Su et al. 2021): pair i of a head turns by position * frequencies[i].
struct RopeParams {
  std::vector<double> frequencies;  // [pairs], radians per position
  bool is_pairwise = true;          ///< pairs are (2i, 2i+1); else (i, i + pairs)
  double magnitude = 1.0;           ///< what turned elements are multiplied with

  int32_t dim() const {
    return 2 * static_cast<int32_t>(frequencies.size());
  }  ///< leading elements of a head that turn
};

/// What a matrix held by a backend is and takes.
struct MatrixSize {
  int32_t rows = 0;
  int32_t length = 0;
  int64_t bytes = 0;  ///< as it is stored, so read by a product

  int64_t elements() const { return int64_t{rows} * length; }
};

struct RmsNorm {
  VectorId weight;
  float epsilon = 0;
};

struct AttentionParams {
  int32_t layer = 0;
  int32_t head_count = 0;
  RopeId rope;
  float scale = 0;       ///< of the scores, before softmax
  RmsNorm query_norm{};  ///< of every query head [head_dim] before it turns; none when its weight doesn't exist
  RmsNorm key_norm{};    ///< the same of the key heads
};

/// Feed-forward networks of which each token takes the `per_token` with the highest router scores, weighed by the
/// softmax of all scores, or with sums_to_one of the chosen ones alone.
struct Experts {
  MatrixId router{};                 // [experts, width]
  std::vector<MatrixId> gate_ups{};  // [experts] of [2 * ffn_width, width], as norm_gated takes them
  std::vector<MatrixId> downs{};     // [experts] of [width, ffn_width]
  int32_t per_token = 0;
  bool sums_to_one = true;
  GateActivation activation = GateActivation::kSilu;

  int32_t count() const { return static_cast<int32_t>(downs.size()); }
};

/// Told of the bytes of added tensors that are still to be read; they get fewer.
using UnreadWatch = std::function<void(int64_t bytes)>;

/// What is left to do of a step that has begun.
enum class StepStart {
  kCompute,  ///< its operations, then sample()
  kDone,     ///< sample() alone: the backend did the operations as they were recorded
};

/// The device's side of a model: holds weights, activations and the KV cache, and computes. A model is written once
/// against these coarse operations; each is one parallel region with its neighbours fused, because at decode the
/// hand-overs are the cost.
///
/// Weights, activations, ropes and the cache are made at load time; after that a step is begin_step, operations,
/// sample, collect. Operations work on the tokens of the current batch, in the order they are called, which is the same
/// in every step. What a token gets never depends on what else is in the batch. Where an operation writes, it doesn't
/// read, but for the sum in matmul_add. One caller thread. Wrong ids or shapes are bugs and abort.
class Backend {
 public:
  virtual ~Backend() = default;

  /// For people and for metrics, e.g. "cpu avx2, 2 threads".
  virtual std::string description() const = 0;
  /// What a cache of this layout may take of the device's own memory, beside all that steps still take; nullopt for a
  /// device that computes in this machine's.
  virtual std::optional<int64_t> cache_bytes_max(const KvLayout& /*layout*/) const { return std::nullopt; }

  /// One matrix from tensors of equal row length, one below the other; they may differ in type. What the
  /// tensors lend (names, bytes, files, makers) stays as it is until finish_weights() returns: a backend may copy it as
  /// late as that, in an order of its own.
  virtual Result<MatrixId> add_matrix(std::span<const StoredTensor* const> parts) = 0;
  virtual MatrixSize matrix_size(MatrixId matrix) const = 0;
  /// Bytes of added tensors that are still to be read.
  virtual int64_t unread_bytes() const = 0;
  /// Reads them; called once all matrices are added and the rehearsals of then are over. Tells `watch` whenever they
  /// have become fewer. A failure to read names the file; then no step may be run.
  virtual Status finish_weights(const UnreadWatch& watch) = 0;
  virtual Result<VectorId> add_vector(std::vector<float> values) = 0;
  virtual Result<ActivationId> add_activation(int32_t tokens_max, int32_t width) = 0;
  virtual RopeId add_rope(const RopeParams& params) = 0;
  /// Experts of matrices that it holds, with the memory that steps of up to `tokens_max` tokens take.
  virtual Result<ExpertsId> add_experts(Experts experts, int32_t tokens_max) = 0;
  /// The paged cache, zeroed; called once. RESOURCE_EXHAUSTED when the memory is not to be had.
  virtual Status add_cache(const KvLayout& layout, int32_t block_count) = 0;

  /// A backend may want to see a step's operations and sample() before there is a batch: once when the weights and
  /// activations are in, to plan memory, and some times when the cache is there, to record them. So many times now; the
  /// caller rehearses each (Model::rehearse).
  virtual int32_t rehearsal_count() const { return 0; }
  virtual Status begin_rehearsal(int32_t /*index*/) { return {}; }
  virtual Status end_rehearsal() { return {}; }

  /// What the model has taken of the device's memory, in the order it was taken, and what is left. Empty where nobody
  /// keeps account.
  virtual std::vector<MemoryUse> memory_uses() const { return {}; }

  /// What the device gives, reading being measured over the weights there are. Tens of milliseconds; between steps.
  virtual MachineLimits measure_limits(const Clock& clock) = 0;

  /// Copies whole tokens in or out, from the buffer's first on; for tests and for looking inside.
  virtual void write(ActivationId to, std::span<const float> values) = 0;
  virtual void read(ActivationId from, std::span<float> values) = 0;

  /// The batch is lent until sample() returns and has token_count() <= every activation's tokens_max.
  virtual StepStart begin_step(const Batch& batch) = 0;
  /// out[t] = scale * table[token_ids[t]]
  virtual void embed(ActivationId out, MatrixId table, float scale) = 0;
  /// out[t] = matrix * rms_norm(in[t]) (+ bias)
  virtual void norm_matmul(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId matrix, VectorId bias) = 0;
  /// qkv[t] is the query heads, then the key heads, then the value heads. Normalises and turns queries and keys, writes
  /// keys and values to the tokens' slots, then out[t] = causal attention of each query head over its sequence, read
  /// through the block table; in a layer with a window over the last KvLayout::window tokens of it.
  virtual void attend(ActivationId out, ActivationId qkv, const AttentionParams& params) = 0;
  /// residual[t] += matrix * in[t]
  virtual void matmul_add(ActivationId residual, ActivationId in, MatrixId matrix) = 0;
  /// residual[t] += rms_norm(matrix * in[t]); `product` [tokens, width] is overwritten.
  virtual void matmul_norm_add(ActivationId residual, ActivationId in, MatrixId matrix, const RmsNorm& norm,
                               ActivationId product) = 0;
  /// out[t] = activation(gate * x) . (up * x) with x = rms_norm(in[t]); gate_up's two parts are gate and up.
  virtual void norm_gated(ActivationId out, ActivationId in, const RmsNorm& norm, MatrixId gate_up,
                          GateActivation activation) = 0;
  /// residual[t] += the weighted sum of its experts' down * (activation(gate * x) . (up * x)) with x =
  /// rms_norm(residual[t]). An expert's tokens are one product.
  virtual void norm_experts_add(ActivationId residual, const RmsNorm& norm, ExpertsId experts) = 0;
  /// Draws or scores every SampleRow of the batch from head * rms_norm(in[token_index]). A failure of any operation of
  /// the step shows here or in collect().
  virtual Status sample(ActivationId in, const RmsNorm& norm, MatrixId head) = 0;
  /// What the oldest step drew whose sample() was ok and which wasn't collected; waits for it.
  virtual Result<StepOutput> collect() = 0;
  /// How many more steps may begin before the oldest is collected.
  virtual int32_t steps_ahead() const { return 0; }
};

}  // namespace sluice::engine
