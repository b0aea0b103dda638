#pragma once

#include <cstdint>
#include <vector>

#include "engine/backend.h"
#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// Cosines and sines of one kind of rotary embedding for the tokens of a step. Angles are computed in double, since at
/// long positions a float angle would be off by whole hundredths.
class RopeTable {
 public:
  explicit RopeTable(const RopeParams& params);

  /// Memory for steps of up to `tokens`, so that resize() takes none.
  void reserve(int32_t tokens);
  /// Room for a step's tokens.
  void resize(int32_t tokens);
  /// Angles of one token; tokens may be set by different threads.
  void set(int32_t token, int32_t position);
  /// Turns the leading elements of a head [head_dim >= dim] by the token's angles.
  void rotate(const Kernels& kernels, int32_t token, float* head) const;

  int32_t dim() const { return params_.dim(); }

 private:
  size_t angle_count(int32_t tokens) const { return static_cast<size_t>(tokens) * static_cast<size_t>(params_.dim()); }

  RopeParams params_;
  std::vector<float> cosines_;  // [tokens, dim], as Kernels::rotate_pairs or rotate_halves take them
  std::vector<float> sines_;    // [tokens, dim]
};

}  // namespace sluice::engine::cpu
