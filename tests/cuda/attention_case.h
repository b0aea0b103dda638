#pragma once

#include <cmath>
#include <cstdlib>
#include <new>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/kernels/attention_batch.cuh"
#include "engine/cuda/kernels/cached_head.cuh"
#include "kernel_stream.h"
#include "tests/cuda/attention_reference.h"

namespace sluice::engine::cuda {

template <typename T>
float round_to(float value) {
  return gpu::to_float(gpu::from_float<T>(value));
}

/// Elements as a device's memory has them, at a multiple of 256.
template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(size_t count, T value = {}) : values_(new (std::align_val_t{256}) T[count], count) {
    std::fill(values_.begin(), values_.end(), value);
  }
  explicit DeviceArray(const std::vector<float>& from) : DeviceArray(from.size()) {
    for (size_t i = 0; i < from.size(); ++i) values_[i] = gpu::from_float<T>(from[i]);
  }
  ~DeviceArray() { ::operator delete[](values_.data(), std::align_val_t{256}); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* data() { return values_.data(); }
  std::vector<float> floats() const {
    gpu::wait_for_kernels();
    std::vector<float> out;
    for (const T& value : values_) out.push_back(gpu::to_float(value));
    return out;
  }

 private:
  std::span<T> values_;
};

/// Keys, or values, as a cache has them: with a scale to each head where the type has scales, NaN to one with NaN.
template <typename Element>
struct CachedHeads {
  CachedHeads(const std::vector<float>& from, int32_t head_dim)
      : elements(from.size()), scales(from.size() / static_cast<size_t>(head_dim), 1.0F) {
    for (size_t i = 0; i < from.size(); ++i) {
      const size_t head = i / static_cast<size_t>(head_dim);
      if (kHasScales<Element> && i % static_cast<size_t>(head_dim) == 0) {
        scales[head] = scale_of(std::span(from).subspan(i, static_cast<size_t>(head_dim)));
      }
      elements.data()[i] = gpu::from_float<Element>(from[i] / scales[head]);
    }
  }

  static float scale_of(std::span<const float> head) {
    float largest = 0;
    for (const float value : head) {
      if (std::isnan(value)) return value;
      largest = std::max(largest, std::abs(value));
    }
    return head_scale(largest);
  }
  std::vector<float> floats() const {
    std::vector<float> out = elements.floats();
    for (size_t i = 0; i < out.size(); ++i) out[i] *= scales[i / (out.size() / scales.size())];
    return out;
  }

  DeviceArray<Element> elements;
  std::vector<float> scales;
};

template <typename Element>
struct CachedCase {
  explicit CachedCase(const AttentionCase& of)
      : keys(of.keys, of.spec.head_dim),
        values(of.values, of.spec.head_dim),
        scales(of.keys.size() / static_cast<size_t>(of.spec.head_dim)),
        block_size(of.spec.block_size) {
    for (size_t i = 0; i < of.keys.size() / static_cast<size_t>(of.spec.head_dim); ++i) {
      scales.data()[i] = {keys.scales[i], values.scales[i]};
    }
  }

  PagedCache<Element> cache() { return {keys.elements.data(), values.elements.data(), block_size, scales.data()}; }

  CachedHeads<Element> keys;
  CachedHeads<Element> values;
  DeviceArray<HeadScales> scales;
  int32_t block_size;
};

template <typename Query, typename Element>
AttentionCase make_case_of(const AttentionSpec& spec, uint32_t seed = 1) {
  return make_attention_case(spec, round_to<Element>, round_to<Query>, seed);
}

inline AttentionRows rows_of(const AttentionCase& from) {
  return {from.row_begin.data(), from.positions.data(), from.table_begin.data(), from.block_ids.data()};
}

inline AttentionShape shape_of(const AttentionCase& from) {
  return {from.spec.heads(), from.spec.kv_heads, from.spec.window, from.scale};
}

/// The largest distance, NaN when there is one.
inline double distance(const std::vector<float>& got, const std::vector<double>& wanted) {
  double largest = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double here = std::abs(static_cast<double>(got[i]) - wanted[i]);
    if (std::isnan(here)) return here;
    largest = std::max(largest, here);
  }
  return largest;
}

}  // namespace sluice::engine::cuda
