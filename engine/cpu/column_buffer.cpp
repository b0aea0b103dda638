#include "engine/cpu/column_buffer.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::cpu {
namespace {

bool has_half_scales(const PackedPart& part) {
  return is_quantized(part.type) && packed_layout(part.type).scales() == 2;
}

bool is_bf16(const PackedPart& part) {
  return part.type == TensorType::kBf16 && part.length % kQuantBlock == 0;
}

}  // namespace

Status ColumnBuffer::reserve(int32_t tokens, int32_t length) {
  if (tokens <= tokens_ && length <= length_max_) return Status();
  tokens_ = std::max(tokens_, tokens);
  length_max_ = std::max(length_max_, length);
  // Products in tiles read whole tiles of columns.
  const auto elements = static_cast<size_t>(tokens_ + kColumnsPadding) * static_cast<size_t>(length_max_);
  const size_t blocks = elements / kQuantBlock + kColumnLanes;
  SLUICE_ASSIGN_OR_RETURN(floats_, HugeBuffer::allocate(elements * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(halves_, HugeBuffer::allocate(elements * sizeof(uint16_t), "activations"));
  SLUICE_ASSIGN_OR_RETURN(rests_, HugeBuffer::allocate(elements * sizeof(uint16_t), "activations"));
  SLUICE_ASSIGN_OR_RETURN(values_, HugeBuffer::allocate(elements, "activations"));
  SLUICE_ASSIGN_OR_RETURN(scales_, HugeBuffer::allocate(blocks * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(sums_, HugeBuffer::allocate(blocks * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(half_sums_, HugeBuffer::allocate(2 * blocks * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(offsets_, HugeBuffer::allocate(blocks * sizeof(int32_t), "activations"));
  return Status();
}

void ColumnBuffer::begin(const PackedMatrix& matrix, int32_t decode_count, int32_t count) {
  SLUICE_CHECK(matrix.length <= length_max_ && decode_count <= count && count <= tokens_);
  length_ = matrix.length;
  has_quantized_ = matrix.has_quantized;
  has_float_ = matrix.has_float;
  wants_half_sums_ = std::any_of(matrix.parts.begin(), matrix.parts.end(), has_half_scales);
  count_ = count;
  // Where both kinds of tokens are treated alike, and in a matrix that is partly of other floats, all count as one
  // kind.
  wants_rests_ = kernels_->prompt.exist() && std::all_of(matrix.parts.begin(), matrix.parts.end(), is_bf16);
  const bool is_split = kernels_->prompt.exist() && (!has_float_ || wants_rests_);
  decode_count_ = is_split ? decode_count : count;
}

bool ColumnBuffer::wants(int32_t token, Activations activations) const {
  const bool is_prompt = token >= decode_count_;
  if (wants_rests_) return activations == (is_prompt ? Activations::kBf16 : Activations::kFloat);
  if (activations == Activations::kFloat && has_float_) return true;
  return has_quantized_ && activations == (is_prompt ? Activations::kBf16 : kernels_->decode.take);
}

void ColumnBuffer::set(int32_t token, const float* x) {
  SLUICE_CHECK(token < count_);
  convert(token, x);
  if (wants(token, Activations::kFloat)) {
    std::memcpy(floats(token), x, static_cast<size_t>(length_) * sizeof(float));
  }
}

void ColumnBuffer::set_normed(int32_t token, const float* x, std::span<const float> weight, float epsilon) {
  SLUICE_CHECK(token < count_ && static_cast<int32_t>(weight.size()) == length_);
  kernels_->rms_norm(x, weight.data(), length_, epsilon, floats(token));
  convert(token, floats(token));
}

void ColumnBuffer::convert(int32_t token, const float* x) {
  const int64_t place = place_of(token);
  if (wants(token, Activations::kBf16)) {
    kernels_->to_halves(x, length_, halves_.as<uint16_t>() + place * kQuantBlock,
                        wants_rests_ ? rests_.as<uint16_t>() + place * kQuantBlock : nullptr);
  }
  if (!wants(token, Activations::kInt8)) return;
  kernels_->quantize(x, length_,
                     {.values = values_.as<int8_t>() + place * kQuantBlock,
                      .scales = scales_.as<float>() + place,
                      .sums = sums_.as<float>() + place,
                      .half_sums = wants_half_sums_ ? half_sums_.as<float>() + 2 * place : nullptr,
                      .offsets = offsets_.as<int32_t>() + place});
}

// Prompts' columns are counted from the first of them, so that their tiles are whole.
int64_t ColumnBuffer::place_of(int32_t token) const {
  return column_place(token < decode_count_ ? token : token - decode_count_, 0, length_ / kQuantBlock);
}

Columns ColumnBuffer::from(int32_t token) const {
  const int64_t place = place_of(token);
  SLUICE_CHECK(place % kColumnLanes == 0);
  return {.length = length_,
          .floats = floats_.as<float>() + int64_t{token} * length_,
          .halves = halves_.as<uint16_t>() + place * kQuantBlock,
          .rests = wants_rests_ ? rests_.as<uint16_t>() + place * kQuantBlock : nullptr,
          .values = values_.as<int8_t>() + place * kQuantBlock,
          .scales = scales_.as<float>() + place,
          .sums = sums_.as<float>() + place,
          .half_sums = half_sums_.as<float>() + 2 * place,
          .offsets = offsets_.as<int32_t>() + place};
}

}  // namespace sluice::engine::cpu
