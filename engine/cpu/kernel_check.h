#pragma once

#include <string_view>

#include "base/status.h"
#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// Holds an instruction set's products and attention against the portable ones on a few numbers, so that a machine or a
/// hypervisor that computes wrongly is found at start and not in an answer. Takes about two milliseconds. INTERNAL
/// names the kernel and the way out; `name` is the instruction set's.
Status check_kernels(const Kernels& kernels, std::string_view name);

}  // namespace sluice::engine::cpu
