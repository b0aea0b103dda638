#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/weight_store.h"

namespace sluice::engine::cpu {

/// The right-hand side of a product, in the forms the matrix's parts want. Tokens are filled in independently, by any
/// thread, and used after a barrier.
class ColumnBuffer {
 public:
  explicit ColumnBuffer(const Kernels& kernels) : kernels_(&kernels) {}

  /// Room for `tokens` columns of up to `length`; never shrinks.
  Status reserve(int32_t tokens, int32_t length);

  /// Says what the following columns are for: the first `decode_count` are drawn tokens, the rest tokens of prompts.
  void begin(const PackedMatrix& matrix, int32_t decode_count, int32_t count);
  /// Column `token` = x [length], as it is.
  void set(int32_t token, const float* x);
  /// Column `token` = rms_norm(x).
  void set_normed(int32_t token, const float* x, std::span<const float> weight, float epsilon);

  /// How many of the columns take part in products as kernels.decode has them; all others as kernels.prompt.
  int32_t decode_count() const { return decode_count_; }
  int32_t count() const { return count_; }
  int32_t length() const { return length_; }
  /// Columns from `token` on, which is a multiple of kColumnLanes, counted from decode_count() for prompts.
  Columns from(int32_t token) const;

 private:
  bool wants(int32_t token, Activations activations) const;
  float* floats(int32_t token) { return floats_.as<float>() + int64_t{token} * length_; }
  int64_t place_of(int32_t token) const;
  void convert(int32_t token, const float* x);

  const Kernels* kernels_;
  int32_t tokens_ = 0;      // capacity
  int32_t length_max_ = 0;  // capacity
  int32_t length_ = 0;
  int32_t decode_count_ = 0;
  int32_t count_ = 0;
  bool has_quantized_ = false;
  bool has_float_ = false;
  bool wants_half_sums_ = false;
  bool wants_rests_ = false;  ///< weights are bfloat16, and prompts are computed in it
  HugeBuffer floats_;         // [tokens, length]
  HugeBuffer halves_;         // as Columns has them
  HugeBuffer rests_;          // the same
  HugeBuffer values_;         // the same
  HugeBuffer scales_;         // the same
  HugeBuffer sums_;           // the same
  HugeBuffer half_sums_;      // the same
  HugeBuffer offsets_;        // the same
};

}  // namespace sluice::engine::cpu
