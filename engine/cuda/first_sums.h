#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/rank_group.h"

namespace sluice::engine::cuda {

/// Lets the devices of a group's ranks add up values of every order of magnitude up to `values_max`, and waits for it.
/// What connects devices takes memory when a sum first needs it, by an algorithm that depends on the sum's size: so
/// this comes before anyone shares out what is free. The first failure of any rank; then the group is left.
Status make_first_sums(std::span<const std::unique_ptr<Device>> devices, int64_t values_max, RankGroup& group);

}  // namespace sluice::engine::cuda
