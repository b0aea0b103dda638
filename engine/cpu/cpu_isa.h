#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

/// The instruction sets the kernels are written for, worst first.
enum class CpuIsa {
  kPortable,  ///< plain C++
  kAvx2,      ///< AVX2, FMA, F16C
  kAvx512,    ///< AVX-512 F, BW, VL, DQ, VNNI
  kAmx,       ///< the above, AMX-INT8 and AMX-BF16
};

std::string_view cpu_isa_name(CpuIsa isa);
/// Those this machine and its operating system can run, worst first; never empty.
std::vector<CpuIsa> available_cpu_isas();
/// "auto" takes the best; a name this machine can't run, or no name at all, is an error that says what can be had.
Result<CpuIsa> choose_cpu_isa(std::string_view name);

}  // namespace sluice::engine
