#include "engine/cpu/cpu_isa.h"

#include <string>

#include <cpuid.h>

namespace sluice::engine {
namespace {

// clang 14's builtin doesn't know this name.
bool has_f16c() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

// The builtins ask the processor and check that the operating system saves the registers.
bool has_avx2() {
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0 && has_f16c();
}

bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 &&
         __builtin_cpu_supports("avx512vnni") != 0;
}

}  // namespace

std::string_view cpu_isa_name(CpuIsa isa) {
  switch (isa) {
    case CpuIsa::kPortable:
      return "portable";
    case CpuIsa::kAvx2:
      return "avx2";
    case CpuIsa::kAvx512:
      return "avx512";
  }
  return "unknown";
}

std::vector<CpuIsa> available_cpu_isas() {
  std::vector<CpuIsa> isas = {CpuIsa::kPortable};
  if (has_avx2()) isas.push_back(CpuIsa::kAvx2);
  if (has_avx512()) isas.push_back(CpuIsa::kAvx512);
  return isas;
}

Result<CpuIsa> choose_cpu_isa(std::string_view name) {
  const std::vector<CpuIsa> isas = available_cpu_isas();
  if (name == "auto") return isas.back();
  std::string names = "auto";
  for (const CpuIsa isa : isas) {
    if (name == cpu_isa_name(isa)) return isa;
    names.append(", ").append(cpu_isa_name(isa));
  }
  return failed_precondition("this machine has no instruction set \"" + std::string(name) + "\"; it can run " + names);
}

}  // namespace sluice::engine
