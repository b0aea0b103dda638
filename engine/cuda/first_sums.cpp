#include "engine/cuda/first_sums.h"

#include "base/check.h"
#include "engine/first_failure.h"
#include "engine/rank_threads.h"

namespace sluice::engine::cuda {
namespace {

constexpr int64_t kSmallestCount = 256;  // a row of a small model
constexpr int64_t kGrowth = 4;

Status add_up_on(Device& device, int64_t values_max) {
  SLUICE_ASSIGN_OR_RETURN(const DeviceBuffer buffer,
                          DeviceBuffer::allocate(device, values_max * element_bytes(Element::kF32), "first sums"));
  for (int64_t count = kSmallestCount; count <= values_max; count *= kGrowth) {
    SLUICE_RETURN_IF_ERROR(device.all_reduce(buffer.as<float>(), count));
  }
  return device.synchronize();
}

}  // namespace

Status make_first_sums(std::span<const std::unique_ptr<Device>> devices, int64_t values_max, RankGroup& group) {
  SLUICE_CHECK(static_cast<int32_t>(devices.size()) == group.rank_count());
  FirstFailure failure;
  RankThreads threads(group.rank_count());
  threads.run([&](int32_t rank) {
    const Status done = add_up_on(*devices[static_cast<size_t>(rank)], values_max);
    if (done.ok()) return;
    failure.note(done);
    group.leave(rank);
  });
  return failure.status();
}

}  // namespace sluice::engine::cuda
