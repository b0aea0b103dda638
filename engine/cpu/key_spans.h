#pragma once

#include <cstdint>

#include "engine/cpu/kernels.h"

// Where attention finds the keys and values of a span of kKeySpan positions, over the vector wrapper V
// (simd_emulated.h).

namespace sluice::engine::cpu {

/// One head of one block of the cache; see KvStore for what lies where.
template <typename Element>
class HeadBlock {
 public:
  using Stored = typename Element::Stored;

  HeadBlock(const AttendTask& task, int32_t position)
      : task_(task), data_(task.cache + task.block_ids[position / task.block_size] * task.block_bytes) {}

  const Stored* keys() const { return reinterpret_cast<const Stored*>(data_); }
  const Stored* values() const { return keys() + elements(); }
  const float* key_scales() const { return reinterpret_cast<const float*>(values() + elements()); }
  const float* value_scales() const { return key_scales() + task_.block_size; }
  /// The same of the next head.
  const Stored* next_keys() const {
    const float* end = Element::kHasScales ? value_scales() + task_.block_size : key_scales();
    return reinterpret_cast<const Stored*>(end);
  }

 private:
  int64_t elements() const { return int64_t{task_.head_dim} * task_.block_size; }

  const AttendTask& task_;
  const std::byte* data_;
};

/// Where a span's keys and values come from: the cache's own blocks, whose size is a multiple of kKeyLanes.
template <typename V, typename Element>
class PagedSpan {
 public:
  using Stored = typename Element::Stored;
  static constexpr bool kHasScales = Element::kHasScales;

  PagedSpan(const AttendTask& task, int32_t span) : task_(task), first_position_(span * kKeySpan) {}

  /// Lanes of keys from `key`, a multiple of kLanes, on: element d is at d * kKeyLanes.
  const Stored* keys(int32_t key) const {
    const int64_t group_elements = int64_t{task_.head_dim} * kKeyLanes;
    return block(key).keys() + offset(key) / kKeyLanes * group_elements + offset(key) % kKeyLanes;
  }
  const Stored* values(int32_t key) const { return block(key).values() + int64_t{offset(key)} * task_.head_dim; }
  int64_t value_stride() const { return task_.head_dim; }
  const float* key_scales(int32_t key) const { return block(key).key_scales() + offset(key); }
  const float* value_scales(int32_t key) const { return block(key).value_scales() + offset(key); }
  static typename V::Float load(const Stored* from) { return Element::load(from); }

  /// Fetches the values that lie where `keys` does among the keys: with each key's element its share of the block's
  /// values.
  void prefetch_values(const Stored* keys) const {
    __builtin_prefetch(keys + int64_t{task_.head_dim} * task_.block_size);
  }
  /// `key`'s share of the keys of the block that is wanted a span later: past the end of the context, of the next
  /// head's first span, which may or may not exist.
  const std::byte* later_keys(int32_t key) const {
    const int32_t later = first_position_ + key + kKeySpan;
    const bool is_past = later >= task_.first_position + task_.token_count;
    const int32_t position = is_past ? key : later;
    const HeadBlock<Element> block(task_, position);
    const Stored* keys = is_past ? block.next_keys() : block.keys();
    return reinterpret_cast<const std::byte*>(keys + int64_t{position % task_.block_size} * task_.head_dim);
  }

 private:
  HeadBlock<Element> block(int32_t key) const { return HeadBlock<Element>(task_, first_position_ + key); }
  int32_t offset(int32_t key) const { return (first_position_ + key) % task_.block_size; }

  const AttendTask& task_;
  const int32_t first_position_;
};

/// The same as floats, for many queries to share; and for shapes that don't fill whole registers.
template <typename V, typename Element>
class FloatSpan {
 public:
  using Stored = float;
  static constexpr bool kHasScales = Element::kHasScales;

  FloatSpan(const AttendTask& task, int32_t padded_dim, float* memory)
      : task_(task),
        padded_dim_(padded_dim),
        keys_(memory),
        values_(keys_ + int64_t{kKeySpan} * task.head_dim),
        key_scales_(values_ + int64_t{kKeySpan} * padded_dim),
        value_scales_(key_scales_ + kKeySpan) {}

  const float* keys(int32_t key) const {
    return keys_ + int64_t{key / kKeyLanes} * task_.head_dim * kKeyLanes + key % kKeyLanes;
  }
  const float* values(int32_t key) const { return values_ + int64_t{key} * padded_dim_; }
  int64_t value_stride() const { return padded_dim_; }
  const float* key_scales(int32_t key) const { return key_scales_ + key; }
  const float* value_scales(int32_t key) const { return value_scales_ + key; }
  static typename V::Float load(const float* from) { return V::load(from); }

  // All of it is near already.
  void prefetch_values(const float* /*keys*/) const {}
  const std::byte* later_keys(int32_t /*key*/) const { return nullptr; }

  /// Takes over the first `key_count` keys of a span. Places past them and columns past head_dim keep whatever they
  /// hold: their scores are overwritten and their sums never read.
  void fill(int32_t span, int32_t key_count) {
    for (int32_t key = 0; key < key_count;) {
      const int32_t position = span * kKeySpan + key;
      const int32_t offset = position % task_.block_size;
      const int32_t left = key_count - key;
      const int32_t run = left < task_.block_size - offset ? left : task_.block_size - offset;
      const HeadBlock<Element> block(task_, position);
      fill_keys(block.keys(), offset, key, run);
      for (int32_t i = 0; i < run; ++i) {
        to_floats(block.values() + int64_t{offset + i} * task_.head_dim, task_.head_dim,
                  values_ + int64_t{key + i} * padded_dim_);
        if constexpr (kHasScales) {
          key_scales_[key + i] = block.key_scales()[offset + i];
          value_scales_[key + i] = block.value_scales()[offset + i];
        }
      }
      key += run;
    }
  }

 private:
  void fill_keys(const typename Element::Stored* keys, int32_t offset, int32_t key, int32_t run) {
    if (task_.block_size % kKeyLanes == 0) {
      const int64_t group_elements = int64_t{task_.head_dim} * kKeyLanes;
      const int64_t groups = (run + kKeyLanes - 1) / kKeyLanes;
      to_floats(keys + offset / kKeyLanes * group_elements, groups * group_elements,
                keys_ + key / kKeyLanes * group_elements);
      return;
    }
    for (int32_t d = 0; d < task_.head_dim; ++d) {
      for (int32_t i = 0; i < run; ++i) {
        float* to = keys_ + (int64_t{(key + i) / kKeyLanes} * task_.head_dim + d) * kKeyLanes + (key + i) % kKeyLanes;
        to_floats(keys + int64_t{d} * task_.block_size + offset + i, 1, to);
      }
    }
  }

  static void to_floats(const typename Element::Stored* from, int64_t count, float* to) {
    const int64_t whole = count - count % V::kLanes;
    for (int64_t i = 0; i < whole; i += V::kLanes) V::store(to + i, Element::load(from + i));
    if (whole == count) return;
    typename Element::Stored tail[V::kLanes] = {};
    float floats[V::kLanes];
    for (int64_t i = whole; i < count; ++i) tail[i - whole] = from[i];
    V::store(floats, Element::load(tail));
    for (int64_t i = whole; i < count; ++i) to[i] = floats[i - whole];
  }

  const AttendTask& task_;
  const int32_t padded_dim_;
  float* const keys_;    // [kKeySpan / kKeyLanes][head_dim][kKeyLanes]
  float* const values_;  // [kKeySpan][padded_dim]
  float* const key_scales_;
  float* const value_scales_;
};

}  // namespace sluice::engine::cpu
