#include "engine/cuda/device_limits.h"

#include <algorithm>

namespace sluice::engine::cuda {
namespace {

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
