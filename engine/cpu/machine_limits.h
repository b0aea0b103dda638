#pragma once

#include <cstddef>
#include <span>

#include "base/clock.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/thread_pool.h"
#include "engine/machine_limits.h"

namespace sluice::engine::cpu {

/// Measured with all of the pool's threads at once: reading `memory`, which is lent and should be at least as much as a
/// model's weights are, and the products of the instruction set ("portable" has no known peak). Takes the time of three
/// passes over the memory and some ten milliseconds.
MachineLimits measure_limits(ThreadPool& pool, CpuIsa isa, std::span<const std::span<const std::byte>> memory,
                             const Clock& clock);

}  // namespace sluice::engine::cpu
