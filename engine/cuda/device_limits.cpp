#include "engine/cuda/device_limits.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/counter_random.h"

namespace sluice::engine::cuda {
namespace {

/// Numbers of changing bits over all of the memory: on zeros, products draw less power and run faster than on weights.
Status fill(Device& device, void* memory, int64_t bytes) {
  std::array<uint16_t, 2048> pattern{};
  for (size_t i = 0; i < pattern.size(); ++i) {
    // Of magnitude 1 to 2, either sign.
    pattern[i] = static_cast<uint16_t>(0x3F80U | (random_bits(1, i) & 0x807FU));
  }
  int64_t filled = std::min(bytes, static_cast<int64_t>(sizeof(pattern)));
  SLUICE_RETURN_IF_ERROR(device.copy_in(memory, pattern.data(), filled));
  for (; filled < bytes; filled = std::min(2 * filled, bytes)) {
    auto* const to = static_cast<std::byte*>(memory) + filled;
    SLUICE_RETURN_IF_ERROR(device.enqueue_copy(to, memory, std::min(filled, bytes - filled)));
  }
  return {};
}

/// Seconds that what `ask` asks of the device takes, at best. The first round, which may load code, counts only alone.
template <typename Ask>
Result<double> fastest(Device& device, const Clock& clock, int32_t rounds, const Ask& ask) {
  double best = 0;
  for (int32_t round = 0; round < rounds; ++round) {
    SLUICE_RETURN_IF_ERROR(device.synchronize());
    const TimePoint began = clock.now();
    SLUICE_RETURN_IF_ERROR(ask());
    SLUICE_RETURN_IF_ERROR(device.synchronize());
    const double took = to_seconds(clock.now() - began);
    best = round == 0 ? took : std::min(best, took);
  }
  return best;
}

double per_second(double amount, double seconds) {
  return seconds > 0 ? amount / seconds : 0;
}

}  // namespace

Result<MachineLimits> measure_device_limits(Device& device, const Clock& clock, const LimitTrial& trial) {
  MachineLimits limits;
  {
    SLUICE_ASSIGN_OR_RETURN(const auto from, DeviceBuffer::allocate(device, trial.copied_bytes, "measuring limits"));
    SLUICE_ASSIGN_OR_RETURN(const auto to, DeviceBuffer::allocate(device, trial.copied_bytes, "measuring limits"));
    SLUICE_ASSIGN_OR_RETURN(const double seconds, fastest(device, clock, trial.rounds, [&] {
                              return device.enqueue_copy(to.as<void>(), from.as<void>(), trial.copied_bytes);
                            }));
    limits.read_bytes_per_second = per_second(2.0 * static_cast<double>(trial.copied_bytes), seconds);
  }
  const int64_t elements = int64_t{trial.product_side} * trial.product_side;
  const int64_t matrix_bytes = elements * element_bytes(Element::kBf16);
  SLUICE_ASSIGN_OR_RETURN(const auto in, DeviceBuffer::allocate(device, matrix_bytes, "measuring limits"));
  SLUICE_ASSIGN_OR_RETURN(const auto matrix, DeviceBuffer::allocate(device, matrix_bytes, "measuring limits"));
  SLUICE_ASSIGN_OR_RETURN(const auto out,
                          DeviceBuffer::allocate(device, elements * element_bytes(Element::kF32), "measuring limits"));
  SLUICE_RETURN_IF_ERROR(fill(device, in.as<void>(), matrix_bytes));
  SLUICE_RETURN_IF_ERROR(fill(device, matrix.as<void>(), matrix_bytes));
  const Product product{.rows = trial.product_side,
                        .outputs = trial.product_side,
                        .inputs = trial.product_side,
                        .element = Element::kBf16,
                        .in = in.as<void>(),
                        .matrix = matrix.as<void>(),
                        .bias = nullptr,
                        .out = out.as<float>(),
                        .adds = false};
  SLUICE_ASSIGN_OR_RETURN(const double seconds,
                          fastest(device, clock, trial.rounds, [&] { return device.multiply(product); }));
  limits.tile_macs_per_second = per_second(static_cast<double>(elements) * trial.product_side, seconds);
  return limits;
}

}  // namespace sluice::engine::cuda
