#include "engine/cpu/rope_table.h"

#include <cmath>

namespace sluice::engine::cpu {

RopeTable::RopeTable(const RopeParams& params) : params_(params) {}

void RopeTable::reserve(int32_t tokens) {
  cosines_.reserve(angle_count(tokens));
  sines_.reserve(angle_count(tokens));
}

void RopeTable::resize(int32_t tokens) {
  cosines_.resize(angle_count(tokens));
  sines_.resize(angle_count(tokens));
}

void RopeTable::set(int32_t token, int32_t position) {
  const size_t half = params_.frequencies.size();
  float* cosines = cosines_.data() + static_cast<size_t>(token) * 2 * half;
  float* sines = sines_.data() + static_cast<size_t>(token) * 2 * half;
  for (size_t i = 0; i < half; ++i) {
    const size_t first = params_.is_pairwise ? 2 * i : i;
    const size_t second = params_.is_pairwise ? 2 * i + 1 : i + half;
    const double angle = position * params_.frequencies[i];
    cosines[first] = cosines[second] = static_cast<float>(params_.magnitude * std::cos(angle));
    sines[second] = static_cast<float>(params_.magnitude * std::sin(angle));
    sines[first] = -sines[second];
  }
}

void RopeTable::rotate(const Kernels& kernels, int32_t token, float* head) const {
  const auto rotate_head = params_.is_pairwise ? kernels.rotate_pairs : kernels.rotate_halves;
  const int64_t first = int64_t{token} * params_.dim();
  rotate_head(head, cosines_.data() + first, sines_.data() + first, params_.dim());
}

}  // namespace sluice::engine::cpu
