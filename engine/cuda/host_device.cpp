#include "engine/cuda/host_device.h"

#include <array>
#include <cstring>
#include <new>
#include <vector>

#include "engine/tensor_type.h"

namespace sluice::engine::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};  // what cudaMalloc promises

/// `count` elements from memory[first] on.
void load(Element element, const void* memory, int64_t first, std::vector<float>& to) {
  const auto count = static_cast<int64_t>(to.size());
  if (element == Element::kF32) {
    std::memcpy(to.data(), static_cast<const float*>(memory) + first, to.size() * sizeof(float));
    return;
  }
  const auto* from = static_cast<const uint16_t*>(memory) + first;
  for (int64_t i = 0; i < count; ++i) to[static_cast<size_t>(i)] = bf16_to_float(from[i]);
}

/// Sixteen sums side by side, which a compiler turns into vectors, then one of them all.
float dot(const float* a, const float* b, size_t count) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> sums{};
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[at + lane] * b[at + lane];
  }
  for (; at < count; ++at) sums[at % kLanes] += a[at] * b[at];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

}  // namespace

HostDevice::~HostDevice() {
  for (const auto& [memory, bytes] : sizes_) ::operator delete(const_cast<std::byte*>(memory), kAlignment);
}

Result<void*> HostDevice::allocate(int64_t bytes, const std::string& purpose) {
  SLUICE_CHECK(bytes > 0);
  if (bytes > total_ - used_) {
    return resource_exhausted("no " + std::to_string(bytes) + " bytes of device memory for " + purpose + ": " +
                              std::to_string(total_ - used_) + " of " + std::to_string(total_) + " are free");
  }
  auto* memory = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow));
  if (memory == nullptr) {
    return resource_exhausted("this machine has no " + std::to_string(bytes) + " bytes for " + purpose);
  }
  std::memset(memory, 0, static_cast<size_t>(bytes));
  used_ += bytes;
  sizes_.emplace(memory, bytes);
  return static_cast<void*>(memory);
}

void HostDevice::release(void* memory) {
  const auto found = sizes_.find(static_cast<const std::byte*>(memory));
  SLUICE_CHECK(found != sizes_.end());
  used_ -= found->second;
  sizes_.erase(found);
  ::operator delete(memory, kAlignment);
}

/// A copy or a product beyond what was allocated is a bug that a GPU may not notice.
void HostDevice::check_inside(const void* memory, int64_t bytes) const {
  const auto* begin = static_cast<const std::byte*>(memory);
  auto after = sizes_.upper_bound(begin);
  SLUICE_CHECK(after != sizes_.begin());
  const auto& [start, size] = *--after;
  SLUICE_CHECK(begin + bytes <= start + size);
}

Status HostDevice::copy_in(void* device_to, const void* from, int64_t bytes) {
  check_inside(device_to, bytes);
  std::memcpy(device_to, from, static_cast<size_t>(bytes));
  return {};
}

Status HostDevice::copy_out(void* to, const void* device_from, int64_t bytes) {
  check_inside(device_from, bytes);
  std::memcpy(to, device_from, static_cast<size_t>(bytes));
  return {};
}

Status HostDevice::multiply(const Product& product) {
  SLUICE_CHECK(product.bias == nullptr || !product.adds);
  const int64_t inputs = product.inputs;
  const int64_t outputs = product.outputs;
  check_inside(product.in, product.rows * inputs * element_bytes(product.element));
  check_inside(product.matrix, outputs * inputs * element_bytes(product.element));
  check_inside(product.out, product.rows * outputs * element_bytes(Element::kF32));
  std::vector<float> in(static_cast<size_t>(product.rows * inputs));
  std::vector<float> matrix_row(static_cast<size_t>(inputs));
  load(product.element, product.in, 0, in);
  for (int64_t output = 0; output < outputs; ++output) {
    load(product.element, product.matrix, output * inputs, matrix_row);
    for (int64_t row = 0; row < product.rows; ++row) {
      float& out = product.out[row * outputs + output];
      const float before = product.adds ? out : product.bias != nullptr ? product.bias[output] : 0;
      out = before + dot(&in[static_cast<size_t>(row * inputs)], matrix_row.data(), matrix_row.size());
    }
  }
  return {};
}

}  // namespace sluice::engine::cuda
