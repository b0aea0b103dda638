#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

// Kernels over single activations, written once over the vector wrapper V (simd_emulated.h).

namespace sluice::engine::cpu {

/// e^x to about 1e-7 relative for x in [-87, 88], and as at the nearer end outside: 2^n * e^r with |r| <= ln(2) / 2.
template <typename V>
typename V::Float exponential(typename V::Float x) {
  x = V::min(V::max(x, V::set(-87.0F)), V::set(88.0F));
  const auto n = V::round(V::mul(x, V::set(1.44269504F)));
  // ln 2 in two parts, so that the first product is exact.
  auto r = V::fma(n, V::set(-0.693359375F), x);
  r = V::fma(n, V::set(2.12194440e-4F), r);
  auto p = V::set(1.0F / 5040);
  p = V::fma(p, r, V::set(1.0F / 720));
  p = V::fma(p, r, V::set(1.0F / 120));
  p = V::fma(p, r, V::set(1.0F / 24));
  p = V::fma(p, r, V::set(1.0F / 6));
  p = V::fma(p, r, V::set(0.5F));
  p = V::fma(p, r, V::set(1.0F));
  p = V::fma(p, r, V::set(1.0F));
  return V::mul(p, V::power_of_two(n));
}

/// to [half a block] = x * inverse, rounded; returns lanes' sums of it: small integers, so exact in any order.
template <typename V>
[[gnu::always_inline]] inline typename V::Float quantize_half(const float* x, typename V::Float inverse, int8_t* to) {
  auto sum = V::set(0);
  for (int i = 0; i < kQuantBlock / 2; i += V::kLanes) {
    const auto rounded = V::round(V::mul(V::load(x + i), inverse));
    V::store_int8(to + i, rounded);
    sum = V::add(sum, rounded);
  }
  return sum;
}

template <typename V>
void quantize(const float* x, int32_t length, const QuantizedColumn& to) {
  int8_t* values = to.values;
  for (int32_t block = 0; block < length / kQuantBlock;
       ++block, x += kQuantBlock, values += kQuantBlock * kColumnLanes) {
    auto largest = V::set(0);
    for (int i = 0; i < kQuantBlock; i += V::kLanes) largest = V::max(largest, V::abs(V::load(x + i)));
    const float top = V::max_of(largest);
    const auto inverse = V::set(top > 0 ? 127.0F / top : 0.0F);
    const auto first = quantize_half<V>(x, inverse, values);
    const auto second = quantize_half<V>(x + kQuantBlock / 2, inverse, values + kQuantBlock / 2);
    const float total = V::sum_of(V::add(first, second));
    const int64_t place = int64_t{block} * kColumnLanes;
    const float scale = top / 127.0F;
    to.scales[place] = scale;
    to.sums[place] = scale * total;
    to.offsets[place] = -128 * static_cast<int32_t>(total);
    if (to.half_sums == nullptr) continue;
    const float first_total = V::sum_of(first);
    to.half_sums[2 * place] = scale * first_total;
    to.half_sums[2 * place + 1] = scale * (total - first_total);
  }
}

template <typename V>
void to_halves(const float* x, int32_t length, uint16_t* halves, uint16_t* rests) {
  for (int64_t at = 0; length > 0; length -= kQuantBlock, x += kQuantBlock, at += int64_t{kQuantBlock} * kColumnLanes) {
    for (int i = 0; i < kQuantBlock; i += V::kLanes) V::store_bf16(halves + at + i, V::load(x + i));
    if (rests == nullptr) continue;
    for (int i = 0; i < kQuantBlock; i += V::kLanes) {
      V::store_bf16(rests + at + i, V::sub(V::load(x + i), V::load_bf16(halves + at + i)));
    }
  }
}

template <typename V>
void put_panel(const float* products, int32_t count, const float* added, float* to, int64_t stride) {
  for (int32_t c = 0; c < count; ++c, products += kPanelRows, to += stride) {
    for (int32_t row = 0; row < kPanelRows; row += V::kLanes) {
      const auto product = V::load(products + row);
      V::store(to + row, added == nullptr ? product : V::add(product, V::load(added + row)));
    }
  }
}

template <typename V>
void add_panel(const float* products, int32_t count, float* to, int64_t stride) {
  for (int32_t c = 0; c < count; ++c, products += kPanelRows, to += stride) {
    for (int32_t row = 0; row < kPanelRows; row += V::kLanes) {
      V::store(to + row, V::add(V::load(to + row), V::load(products + row)));
    }
  }
}

template <typename V>
void rms_norm(const float* x, const float* weight, int32_t length, float epsilon, float* out) {
  const int32_t whole = length - length % V::kLanes;
  auto squares = V::set(0);
  for (int32_t i = 0; i < whole; i += V::kLanes) squares = V::fma(V::load(x + i), V::load(x + i), squares);
  float total = V::sum_of(squares);
  for (int32_t i = whole; i < length; ++i) total += x[i] * x[i];
  const float factor = 1.0F / __builtin_sqrtf(total / static_cast<float>(length) + epsilon);
  for (int32_t i = 0; i < whole; i += V::kLanes) {
    V::store(out + i, V::mul(V::mul(V::load(x + i), V::set(factor)), V::load(weight + i)));
  }
  for (int32_t i = whole; i < length; ++i) out[i] = x[i] * factor * weight[i];
}

template <typename V>
void rotate_pairs(float* head, const float* cosines, const float* sines, int32_t dim) {
  const int32_t whole = dim - dim % V::kLanes;
  for (int32_t j = 0; j < whole; j += V::kLanes) {
    const auto x = V::load(head + j);
    const auto turned = V::mul(V::swap_neighbours(x), V::load(sines + j));
    V::store(head + j, V::fma(x, V::load(cosines + j), turned));
  }
  for (int32_t j = whole; j < dim; j += 2) {
    const float x = head[j];
    const float y = head[j + 1];
    head[j] = x * cosines[j] + y * sines[j];
    head[j + 1] = y * cosines[j + 1] + x * sines[j + 1];
  }
}

template <typename V>
void rotate_halves(float* head, const float* cosines, const float* sines, int32_t dim) {
  const int32_t half = dim / 2;
  const int32_t whole = half - half % V::kLanes;
  for (int32_t j = 0; j < whole; j += V::kLanes) {
    const auto x = V::load(head + j);
    const auto y = V::load(head + half + j);
    V::store(head + j, V::fma(x, V::load(cosines + j), V::mul(y, V::load(sines + j))));
    V::store(head + half + j, V::fma(y, V::load(cosines + half + j), V::mul(x, V::load(sines + half + j))));
  }
  for (int32_t j = whole; j < half; ++j) {
    const float x = head[j];
    const float y = head[half + j];
    head[j] = x * cosines[j] + y * sines[j];
    head[half + j] = y * cosines[half + j] + x * sines[half + j];
  }
}

/// x / (1 + exp(-slope))
template <typename V>
typename V::Float times_sigmoid(typename V::Float x, typename V::Float slope) {
  return V::div(x, V::add(V::set(1), exponential<V>(V::sub(V::set(0), slope))));
}

template <typename V>
void silu_multiply(float* gate, const float* up, int32_t count) {
  for (int32_t i = 0; i < count; i += V::kLanes) {
    const auto g = V::load(gate + i);
    V::store(gate + i, V::mul(times_sigmoid<V>(g, g), V::load(up + i)));
  }
}

// (1 + tanh(z)) / 2 = 1 / (1 + exp(-2 z)).
template <typename V>
void gelu_multiply(float* gate, const float* up, int32_t count) {
  const auto twice_root = V::set(1.5957691216F);  // 2 sqrt(2 / pi)
  for (int32_t i = 0; i < count; i += V::kLanes) {
    const auto g = V::load(gate + i);
    const auto cubic = V::mul(V::mul(V::mul(g, g), g), V::set(0.044715F));
    V::store(gate + i, V::mul(times_sigmoid<V>(g, V::mul(twice_root, V::add(g, cubic))), V::load(up + i)));
  }
}

template <typename V>
void store_f16(const float* x, int32_t count, uint16_t* out) {
  const int32_t whole = count - count % V::kLanes;
  for (int32_t i = 0; i < whole; i += V::kLanes) V::store_f16(out + i, V::load(x + i));
  for (int32_t i = whole; i < count; ++i) out[i] = V::to_f16(x[i]);
}

template <typename V>
void store_bf16(const float* x, int32_t count, uint16_t* out) {
  const int32_t whole = count - count % V::kLanes;
  for (int32_t i = 0; i < whole; i += V::kLanes) V::store_bf16(out + i, V::load(x + i));
  for (int32_t i = whole; i < count; ++i) out[i] = V::to_bf16(x[i]);
}

template <typename V>
float store_int8(const float* x, int32_t count, int8_t* out) {
  const int32_t whole = count - count % V::kLanes;
  auto largest = V::set(0);
  for (int32_t i = 0; i < whole; i += V::kLanes) largest = V::max(largest, V::abs(V::load(x + i)));
  float top = V::max_of(largest);
  for (int32_t i = whole; i < count; ++i) top = x[i] > top ? x[i] : -x[i] > top ? -x[i] : top;
  const auto inverse = V::set(top > 0 ? 127.0F / top : 0.0F);
  for (int32_t i = 0; i < whole; i += V::kLanes) V::store_int8(out + i, V::round(V::mul(V::load(x + i), inverse)));
  if (whole < count) {
    float tail[V::kLanes] = {};
    int8_t rounded[V::kLanes];
    for (int32_t i = whole; i < count; ++i) tail[i - whole] = x[i];
    V::store_int8(rounded, V::round(V::mul(V::load(tail), inverse)));
    for (int32_t i = whole; i < count; ++i) out[i] = rounded[i - whole];
  }
  return top / 127.0F;
}

}  // namespace sluice::engine::cpu
