#include "engine/cpu/column_buffer.h"

#include <algorithm>
#include <cstring>

namespace sluice::engine::cpu {

Status ColumnBuffer::reserve(int32_t tokens, int32_t length) {
  if (tokens <= tokens_ && length <= length_max_) return Status();
  tokens_ = std::max(tokens_, tokens);
  length_max_ = std::max(length_max_, length);
  // Products in tiles read whole tiles of columns.
  const auto elements = static_cast<size_t>(tokens_ + kColumnsPadding) * static_cast<size_t>(length_max_);
  const size_t blocks = elements / kQuantBlock + kScaleLanes;
  SLUICE_ASSIGN_OR_RETURN(floats_, HugeBuffer::allocate(elements * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(values_, HugeBuffer::allocate(elements, "activations"));
  SLUICE_ASSIGN_OR_RETURN(scales_, HugeBuffer::allocate(blocks * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(sums_, HugeBuffer::allocate(blocks * sizeof(float), "activations"));
  SLUICE_ASSIGN_OR_RETURN(offsets_, HugeBuffer::allocate(blocks * sizeof(int32_t), "activations"));
  return Status();
}

void ColumnBuffer::begin(const PackedMatrix& matrix) {
  SLUICE_CHECK(matrix.length <= length_max_);
  length_ = matrix.length;
  wants_quantized_ = matrix.has_quantized && kernels_->quantized_weights_take == Activations::kInt8;
  wants_float_ = matrix.has_float || kernels_->quantized_weights_take == Activations::kFloat;
}

void ColumnBuffer::set(int32_t token, const float* x) {
  SLUICE_CHECK(token < tokens_);
  if (wants_quantized_) quantize(token, x);
  if (wants_float_) {
    std::memcpy(floats_.as<float>() + int64_t{token} * length_, x, static_cast<size_t>(length_) * sizeof(float));
  }
}

void ColumnBuffer::set_normed(int32_t token, const float* x, std::span<const float> weight, float epsilon) {
  SLUICE_CHECK(token < tokens_ && static_cast<int32_t>(weight.size()) == length_);
  float* normed = floats_.as<float>() + int64_t{token} * length_;
  kernels_->rms_norm(x, weight.data(), length_, epsilon, normed);
  if (wants_quantized_) quantize(token, normed);
}

void ColumnBuffer::quantize(int32_t token, const float* x) {
  const int64_t place = scale_place(token, 0, length_ / kQuantBlock);
  kernels_->quantize(x, length_, values_.as<int8_t>() + int64_t{token} * length_, scales_.as<float>() + place,
                     sums_.as<float>() + place, offsets_.as<int32_t>() + place);
}

Columns ColumnBuffer::from(int32_t token) const {
  SLUICE_CHECK(token % kScaleLanes == 0);
  const int64_t place = scale_place(token, 0, length_ / kQuantBlock);
  return {.length = length_,
          .floats = floats_.as<float>() + int64_t{token} * length_,
          .values = values_.as<int8_t>() + int64_t{token} * length_,
          .scales = scales_.as<float>() + place,
          .sums = sums_.as<float>() + place,
          .offsets = offsets_.as<int32_t>() + place};
}

}  // namespace sluice::engine::cpu
