#pragma once

#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {

/// The sources of an instruction set's kernels, over vectors in plain C++: they run on every machine. `isa` is not
/// kPortable.
const Kernels& emulated_kernels(CpuIsa isa);

}  // namespace sluice::engine::cpu
