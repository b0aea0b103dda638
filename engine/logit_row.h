#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace sluice::engine {

inline constexpr int32_t kLogitBlock = 16;  ///< logits per block: one panel of the head's product

constexpr size_t logit_block_count(size_t logit_count) {
  return (logit_count + kLogitBlock - 1) / kLogitBlock;
}

/// The logits of one place, and what is known about them for nothing while a product is stored: the largest of each
/// block of kLogitBlock, the last of which may be shorter. NaNs are passed over; a block with nothing else has
/// -infinity.
struct Logits {
  std::span<const float> values;      // [vocab_size], not empty
  std::span<const float> block_tops;  // [logit_block_count(vocab_size)]
};

/// The same where it may be changed.
struct LogitRow {
  std::span<float> values;
  std::span<float> block_tops;

  operator Logits() const { return {values, block_tops}; }
};

/// `tops` has logit_block_count(values.size()) places.
void fill_block_tops(std::span<const float> values, std::span<float> tops);

/// Changes one logit and keeps the top of its block true.
void set_logit(const LogitRow& row, int32_t token, float logit);

/// The largest value; NaNs are passed over. -infinity when there is nothing else.
float largest_of(std::span<const float> values);

/// The first token with the largest logit, 0 when all are NaN; `largest` is largest_of(logits.block_tops).
int32_t likeliest_token(const Logits& logits, float largest);

}  // namespace sluice::engine
