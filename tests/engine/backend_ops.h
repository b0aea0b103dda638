#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/quant_scheme.h"
#include "engine/stored_tensor.h"
#include "engine/tensor_type.h"
#include "tests/engine/backend_batch.h"
#include "tests/engine/quantized_data.h"

// What tests of a backend's operations hold them against: tensors with known values, and plain arithmetic in doubles.

namespace sluice::engine {

/// Of what kind all tokens of a batch are: backends may compute the two in different precision.
enum class TokenKind { kDrawn, kPrompt };

/// A tensor that owns its bytes, with its values as the format defines them.
struct TestTensor {
  std::vector<std::byte> bytes;
  std::vector<float> values;
  StoredTensor tensor;
};

inline void put_u16(std::byte* to, uint16_t value) {
  std::memcpy(to, &value, sizeof(value));
}

inline void fill_floats(TensorType type, Random& random, std::vector<std::byte>& bytes) {
  const auto size = static_cast<size_t>(traits_of(type).block_bytes);
  for (size_t at = 0; at < bytes.size(); at += size) {
    const float value = random.uniform(-1, 1);
    if (type == TensorType::kF32) std::memcpy(&bytes[at], &value, sizeof(value));
    if (type == TensorType::kF16) put_u16(&bytes[at], float_to_half(value));
    if (type == TensorType::kBf16) put_u16(&bytes[at], float_to_bf16(value));
  }
}

inline std::unique_ptr<TestTensor> make_tensor(TensorType type, std::vector<int64_t> shape, Random& random) {
  auto made = std::make_unique<TestTensor>();
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  made->bytes.resize(static_cast<size_t>(tensor_bytes(type, count)));
  is_quantized(type) ? fill_blocks(type, random, made->bytes) : fill_floats(type, random, made->bytes);
  made->values.resize(static_cast<size_t>(count));
  dequantize(type, made->bytes, made->values);
  made->tensor = {.name = "test", .type = type, .shape = std::move(shape), .data = made->bytes};
  return made;
}

inline Batch plain_batch(int32_t tokens, TokenKind kind = TokenKind::kDrawn) {
  Batch batch = make_batch({{{0}, 0, tokens}}, tokens);
  // One row or many is all the same to products.
  batch.decode_rows = kind == TokenKind::kDrawn ? tokens : 0;
  return batch;
}

inline std::vector<double> rms_norm(const float* x, const std::vector<float>& weight, double epsilon) {
  double squares = 0;
  for (size_t i = 0; i < weight.size(); ++i) squares += double{x[i]} * double{x[i]};
  const double factor = 1 / std::sqrt(squares / static_cast<double>(weight.size()) + epsilon);
  std::vector<double> result;
  for (size_t i = 0; i < weight.size(); ++i) result.push_back(double{x[i]} * factor * double{weight[i]});
  return result;
}

struct Dot {
  double value = 0;
  double magnitude = 0;  // the same sum of absolute values: what a rounding error is relative to
};

template <typename X>
Dot dot(const float* row, const X* x, int32_t length) {
  Dot result;
  for (int32_t k = 0; k < length; ++k) {
    result.value += double{row[k]} * static_cast<double>(x[k]);
    result.magnitude += std::abs(double{row[k]} * static_cast<double>(x[k]));
  }
  return result;
}

class BackendOps : public ::testing::TestWithParam<CpuIsa> {
 protected:
  std::unique_ptr<Backend> make_backend(int32_t threads = 2) {
    return make_cpu_backend({.threads = threads, .isa = std::string(cpu_isa_name(GetParam()))}).value();
  }
  static VectorId add_vector(Backend& backend, const TestTensor& tensor) {
    return backend.add_vector(tensor.values).value();
  }
  static std::vector<float> read(Backend& backend, ActivationId id, int64_t count) {
    std::vector<float> values(static_cast<size_t>(count));
    backend.read(id, values);
    return values;
  }

  Random random_{42};
};

}  // namespace sluice::engine
