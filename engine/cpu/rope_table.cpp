#include "engine/cpu/rope_table.h"

#include <cmath>

#include "base/check.h"

namespace sluice::engine::cpu {

RopeTable::RopeTable(const RopeParams& params) : params_(params) {
  SLUICE_CHECK(params.dim >= 0 && params.dim % 2 == 0);
  for (int32_t i = 0; i < params.dim / 2; ++i) frequencies_.push_back(std::pow(params.base, -2.0 * i / params.dim));
}

void RopeTable::resize(int32_t tokens) {
  const size_t count = static_cast<size_t>(tokens) * frequencies_.size();
  cosines_.resize(count);
  sines_.resize(count);
}

void RopeTable::set(int32_t token, int32_t position) {
  const size_t first = static_cast<size_t>(token) * frequencies_.size();
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    const double angle = position * frequencies_[i];
    cosines_[first + i] = static_cast<float>(std::cos(angle));
    sines_[first + i] = static_cast<float>(std::sin(angle));
  }
}

void RopeTable::rotate(int32_t token, float* head) const {
  const size_t half = frequencies_.size();
  const float* cosines = cosines_.data() + static_cast<size_t>(token) * half;
  const float* sines = sines_.data() + static_cast<size_t>(token) * half;
  const size_t step = params_.is_pairwise ? 2 : 1;
  const size_t partner = params_.is_pairwise ? 1 : half;
  for (size_t i = 0; i < half; ++i) {
    float& x = head[i * step];
    float& y = head[i * step + partner];
    const float turned = x * cosines[i] - y * sines[i];
    y = x * sines[i] + y * cosines[i];
    x = turned;
  }
}

}  // namespace sluice::engine::cpu
