#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "kernel_stream.h"

namespace sluice::engine::cuda {

/// Random numbers for one test.
class Random {
 public:
  explicit Random(uint32_t seed) : engine_(seed) {}
  float uniform(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  int32_t integer(int32_t low, int32_t high) { return std::uniform_int_distribution<int32_t>(low, high)(engine_); }

  /// As T stores them.
  template <typename T>
  std::vector<T> numbers(int64_t count, float low = -1, float high = 1) {
    std::vector<T> result(static_cast<size_t>(count));
    for (T& x : result) x = gpu::from_float<T>(uniform(low, high));
    return result;
  }

 private:
  std::mt19937 engine_;
};

template <typename T>
double value_of(const std::vector<T>& values, int64_t at) {
  return static_cast<double>(gpu::to_float(values.at(static_cast<size_t>(at))));
}

/// What rounding to T may change of a number, relative to it.
template <typename T>
constexpr double kRounding = 0;
template <>
inline constexpr double kRounding<float> = 3e-6;  // of the arithmetic
template <>
inline constexpr double kRounding<gpu::Bf16> = 0.00393;
template <>
inline constexpr double kRounding<gpu::Half> = 0.0005;
template <>
inline constexpr double kRounding<gpu::Fp8> = 0.0627;

/// A buffer for a kernel to write to, between bytes that it leaves alone. `shift` elements past an aligned address.
template <typename T>
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t count, int64_t shift = 0)
      : begin_(kGuard + shift),
        count_(count),
        bytes_(static_cast<size_t>(begin_ + count + kGuard) * sizeof(T), kFill) {}

  T* data() { return reinterpret_cast<T*>(bytes_.data()) + begin_; }

  void put(const std::vector<T>& values) { std::memcpy(data(), values.data(), values.size() * sizeof(T)); }

  std::vector<T> take() {
    gpu::wait_for_kernels();
    const auto begin = static_cast<size_t>(begin_) * sizeof(T);
    const auto end = begin + static_cast<size_t>(count_) * sizeof(T);
    for (size_t i = 0; i < bytes_.size(); ++i) {
      if (i >= begin && i < end) continue;
      EXPECT_EQ(bytes_[i], kFill) << "written outside of the buffer";
    }
    std::vector<T> values(static_cast<size_t>(count_));
    std::memcpy(values.data(), data(), values.size() * sizeof(T));
    return values;
  }

 private:
  static constexpr int64_t kGuard = 32;
  static constexpr uint8_t kFill = 0xa5;

  int64_t begin_;
  int64_t count_;
  std::vector<uint8_t> bytes_;
};

/// Compares bytes, so that NaNs and zeros' signs count.
template <typename T>
bool is_same(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

/// run(stream)'s result, which is the same in every order.
template <typename Run>
auto run_in_all_orders(const Run& run) {
  const auto result = run(nullptr);
  const auto orders = gpu::kernel_orders();
  for (size_t i = 0; i < orders.size(); ++i) {
    gpu::KernelStream stream(orders[i]);
    EXPECT_TRUE(is_same(run(stream.get()), result)) << "order " << i;
  }
  return result;
}

}  // namespace sluice::engine::cuda
