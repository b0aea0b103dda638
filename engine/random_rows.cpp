#include "engine/random_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "base/check.h"
#include "base/counter_random.h"
#include "engine/quant_scheme.h"
#include "engine/quantized_block.h"

namespace sluice::engine {
namespace {

constexpr auto kElements = static_cast<size_t>(RandomRecipe::kElements);
constexpr auto kDrawsPerWord = static_cast<size_t>(RandomRecipe::kDrawsPerWord);
constexpr auto kWordBytes = static_cast<size_t>(RandomRecipe::kWordBytes);
constexpr uint16_t kSign = 0x8000;

/// The number below which a normally distributed one lies with probability `share`, which is at most 1/2.
double normal_quantile(double share) {
  double low = -8;
  double high = 0;
  for (int i = 0; i < 40; ++i) {
    const double middle = (low + high) / 2;
    (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
  }
  return high;
}

void store_element(TensorType type, float value, std::byte* to) {
  if (type == TensorType::kF32) {
    std::memcpy(to, &value, sizeof(value));
    return;
  }
  const uint16_t bits = type == TensorType::kF16 ? float_to_half(value) : float_to_bf16(value);
  std::memcpy(to, &bits, sizeof(bits));
}

/// The middles of equally likely stretches of a normal distribution, as stored.
std::vector<std::byte> normal_elements(TensorType type, WeightSpread spread) {
  const auto bytes = static_cast<size_t>(traits_of(type).block_bytes);
  std::vector<std::byte> elements(kElements * bytes);
  for (size_t i = 0; i < kElements / 2; ++i) {
    const auto below = static_cast<float>(normal_quantile((static_cast<double>(i) + 0.5) / kElements));
    store_element(type, spread.mean + spread.deviation * below, &elements[i * bytes]);
    store_element(type, spread.mean - spread.deviation * below, &elements[(kElements - 1 - i) * bytes]);
  }
  return elements;
}

/// Where a stored block has the halves d and m; quantized_block.h draws all of it.
struct ScalePlaces {
  int32_t d = 0;
  int32_t m = -1;  ///< none: -1
  bool m_is_negated = false;
};

ScalePlaces scale_places(TensorType type) {
  switch (type) {
    case TensorType::kQ4_1:
    case TensorType::kQ5_1:
      return {.d = 0, .m = 2};
    case TensorType::kQ2_K:
      return {.d = 80, .m = 82, .m_is_negated = true};
    case TensorType::kQ3_K:
      return {.d = 108};
    case TensorType::kQ4_K:
    case TensorType::kQ5_K:
      return {.d = 0, .m = 2, .m_is_negated = true};
    case TensorType::kQ6_K:
      return {.d = 208};
    default:
      return {};
  }
}

/// Gives blocks of random bits their scale: d, and the m that puts zero amid the quants. As likely as any block is its
/// negative, so all weights have the mean 0.
BlockStamp stamp_for(TensorType type, float scale) {
  if (type == TensorType::kMxfp4) return {.exponent = static_cast<int32_t>(128 + std::lround(std::log2(scale)))};
  const ScalePlaces places = scale_places(type);
  const float middle = scale * static_cast<float>((1 << quant_scheme(type).bits) - 1) / 2;
  return {.d_place = places.d,
          .d = float_to_half(scale),
          .m_place = places.m,
          .m = float_to_half(places.m_is_negated ? middle : -middle)};
}

void set_half(std::span<std::byte> block, int32_t place, uint16_t bits) {
  std::memcpy(&block[static_cast<size_t>(place)], &bits, sizeof(bits));
}

void set_scales(const BlockStamp& stamp, std::span<std::byte> block) {
  if (stamp.exponent >= 0) {
    block[0] = static_cast<std::byte>(stamp.exponent);
    return;
  }
  uint16_t random = 0;
  std::memcpy(&random, &block[static_cast<size_t>(stamp.d_place)], sizeof(random));
  const auto sign = static_cast<uint16_t>(random & kSign);
  set_half(block, stamp.d_place, stamp.d ^ sign);
  if (stamp.m_place >= 0) set_half(block, stamp.m_place, stamp.m ^ sign);
}

void fill_words(uint64_t seed, uint64_t counter, std::span<std::byte> bytes) {
  for (size_t i = 0; i < bytes.size(); i += kWordBytes, ++counter) {
    const uint64_t word = random_bits(seed, counter);
    std::memcpy(&bytes[i], &word, std::min(kWordBytes, bytes.size() - i));
  }
}

/// The root of the mean square of a type's weights when the scale is 1.
float unit_deviation(TensorType type) {
  constexpr int kBlocks = 1024;
  std::array<std::byte, kQuantBlockElementsMax> room{};
  const auto block = std::span(room).first(static_cast<size_t>(traits_of(type).block_bytes));
  const auto elements = static_cast<size_t>(traits_of(type).block_elements);
  std::array<float, kQuantBlockElementsMax> values{};
  const BlockStamp stamp = stamp_for(type, 1);
  double squares = 0;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    fill_words(0, i * kQuantBlockElementsMax, block);
    set_scales(stamp, block);
    dequantize(type, block, std::span(values).first(elements));
    for (size_t k = 0; k < elements; ++k) squares += double{values[k]} * double{values[k]};
  }
  return static_cast<float>(std::sqrt(squares / static_cast<double>(kBlocks * elements)));
}

uint64_t words_of_row(TensorType type, int64_t row_length, size_t row_bytes) {
  const size_t per_word = is_quantized(type) ? kWordBytes : kDrawsPerWord;
  const size_t units = is_quantized(type) ? row_bytes : static_cast<size_t>(row_length);
  return (units + per_word - 1) / per_word;
}

/// kDrawsPerWord elements of each word of random bits.
template <size_t kBytes>
void draw(uint64_t seed, uint64_t counter, const std::byte* elements, std::span<std::byte> row) {
  constexpr size_t kGroup = kBytes * kDrawsPerWord;
  for (size_t begin = 0; begin < row.size(); begin += kGroup) {
    uint64_t word = random_bits(seed, counter++);
    const size_t end = std::min(begin + kGroup, row.size());
    for (size_t i = begin; i < end; i += kBytes, word >>= 16U) {
      std::memcpy(&row[i], elements + (word & (kElements - 1)) * kBytes, kBytes);
    }
  }
}

}  // namespace

RandomRows::RandomRows(TensorType type, int64_t row_length, WeightSpread spread, uint64_t seed) {
  recipe_.type = type;
  recipe_.row_bytes = tensor_bytes(type, row_length);
  recipe_.row_words = words_of_row(type, row_length, static_cast<size_t>(recipe_.row_bytes));
  recipe_.seed = seed;
  if (!is_quantized(type)) {
    elements_ = normal_elements(type, spread);
    recipe_.elements = elements_;
    return;
  }
  SLUICE_CHECK(spread.mean == 0 && spread.deviation > 0);
  recipe_.stamp = stamp_for(type, spread.deviation / unit_deviation(type));
}

void RandomRows::make_rows(int64_t first, std::span<std::byte> rows) const {
  const auto row_bytes = static_cast<size_t>(recipe_.row_bytes);
  SLUICE_CHECK(first >= 0 && rows.size() % row_bytes == 0);
  uint64_t counter = static_cast<uint64_t>(first) * recipe_.row_words;
  for (size_t begin = 0; begin < rows.size(); begin += row_bytes, counter += recipe_.row_words) {
    make_row(counter, rows.subspan(begin, row_bytes));
  }
}

void RandomRows::make_row(uint64_t counter, std::span<std::byte> row) const {
  const TensorType type = recipe_.type;
  if (type == TensorType::kF32) return draw<4>(recipe_.seed, counter, elements_.data(), row);
  if (!is_quantized(type)) return draw<2>(recipe_.seed, counter, elements_.data(), row);
  fill_words(recipe_.seed, counter, row);
  const auto block_bytes = static_cast<size_t>(traits_of(type).block_bytes);
  for (size_t begin = 0; begin < row.size(); begin += block_bytes) {
    set_scales(recipe_.stamp, row.subspan(begin, block_bytes));
  }
}

}  // namespace sluice::engine
