#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "engine/batch.h"

namespace sluice::engine {

/// Random numbers for one test.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  int32_t integer(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(engine_); }
  std::vector<float> floats(int64_t count, float low = -1, float high = 1) {
    std::vector<float> result(static_cast<size_t>(count));
    for (float& x : result) x = uniform(low, high);
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// A batch of rows whose tokens go to the blocks of their tables.
struct RowSlice {
  std::vector<int32_t> blocks;
  int32_t first_position = 0;
  int32_t count = 0;
};

inline Batch make_batch(const std::vector<RowSlice>& rows, int32_t block_size) {
  Batch batch;
  batch.row_begin = {0};
  batch.table_begin = {0};
  for (const RowSlice& row : rows) {
    for (int32_t position = row.first_position; position < row.first_position + row.count; ++position) {
      batch.token_ids.push_back(0);
      batch.positions.push_back(position);
      const int32_t block = row.blocks.at(static_cast<size_t>(position / block_size));
      batch.slots.push_back(block * block_size + position % block_size);
    }
    batch.row_begin.push_back(batch.token_count());
    batch.context_lengths.push_back(row.first_position + row.count);
    batch.block_ids.insert(batch.block_ids.end(), row.blocks.begin(), row.blocks.end());
    batch.table_begin.push_back(static_cast<int32_t>(batch.block_ids.size()));
  }
  return batch;
}

}  // namespace sluice::engine
