#include "engine/logit_row.h"

#include <algorithm>
#include <array>
#include <limits>

#include "base/check.h"

namespace sluice::engine {
namespace {

// Independent maxima in a small array of known size: compilers turn them into vectors at every level of optimisation.
using Lanes = std::array<float, kLogitBlock>;

/// NaN is never larger.
float larger(float top, float value) {
  return value > top ? value : top;
}

float fold(const Lanes& lanes) {
  std::array<float, 4> quarter;
  for (size_t i = 0; i < 4; ++i) quarter[i] = larger(lanes[i], lanes[i + 4]);
  for (size_t i = 0; i < 4; ++i) quarter[i] = larger(quarter[i], lanes[i + 8]);
  for (size_t i = 0; i < 4; ++i) quarter[i] = larger(quarter[i], lanes[i + 12]);
  return larger(larger(quarter[0], quarter[1]), larger(quarter[2], quarter[3]));
}

/// Of at most a block's values.
float top_of_block(std::span<const float> values) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  Lanes lanes;
  lanes.fill(kNone);
  if (values.size() == lanes.size()) {
    for (size_t i = 0; i < lanes.size(); ++i) lanes[i] = larger(kNone, values[i]);
  } else {
    for (size_t i = 0; i < values.size(); ++i) lanes[i] = larger(kNone, values[i]);
  }
  return fold(lanes);
}

template <typename T>
std::span<T> block_at(std::span<T> values, size_t block) {
  const size_t begin = block * kLogitBlock;
  return values.subspan(begin, std::min<size_t>(kLogitBlock, values.size() - begin));
}

/// A block before which none has this top, close to the first that has: kLogitBlock of them are looked at in one go.
size_t skip_to(float top, std::span<const float> tops) {
  size_t block = 0;
  for (; block + kLogitBlock <= tops.size(); block += kLogitBlock) {
    int32_t is_there = 0;
    for (size_t i = 0; i < kLogitBlock; ++i) is_there |= tops[block + i] == top ? 1 : 0;
    if (is_there != 0) break;
  }
  return block;
}

}  // namespace

void fill_block_tops(std::span<const float> values, std::span<float> tops) {
  SLUICE_CHECK(tops.size() == logit_block_count(values.size()));
  for (size_t block = 0; block < tops.size(); ++block) tops[block] = top_of_block(block_at(values, block));
}

void set_logit(const LogitRow& row, int32_t token, float logit) {
  const auto place = static_cast<size_t>(token);
  SLUICE_CHECK(token >= 0 && place < row.values.size());
  const float before = row.values[place];
  float& top = row.block_tops[place / kLogitBlock];
  row.values[place] = logit;
  if (logit >= top) {
    top = logit;
  } else if (before == top) {
    top = top_of_block(block_at(row.values, place / kLogitBlock));
  }
}

float largest_of(std::span<const float> values) {
  Lanes lanes;
  lanes.fill(-std::numeric_limits<float>::infinity());
  size_t i = 0;
  for (; i + lanes.size() <= values.size(); i += lanes.size()) {
    for (size_t j = 0; j < lanes.size(); ++j) lanes[j] = larger(lanes[j], values[i + j]);
  }
  for (; i < values.size(); ++i) lanes[0] = larger(lanes[0], values[i]);
  return fold(lanes);
}

int32_t likeliest_token(const Logits& logits, float largest) {
  // A block of NaNs alone has the top -infinity without holding it: then the search goes on.
  for (size_t block = skip_to(largest, logits.block_tops); block < logits.block_tops.size(); ++block) {
    if (logits.block_tops[block] != largest) continue;
    const std::span<const float> values = block_at(logits.values, block);
    const auto found = std::find(values.begin(), values.end(), largest);
    if (found != values.end())
      return static_cast<int32_t>(block) * kLogitBlock + static_cast<int32_t>(found - values.begin());
  }
  return 0;
}

}  // namespace sluice::engine
