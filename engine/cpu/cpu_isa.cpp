#include "engine/cpu/cpu_isa.h"

#include <string>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// Tiles are 8 KiB of state per thread, so Linux wants to be asked before it saves them (arch/x86/xstate.rst); asking
// again is harmless.
bool may_use_tiles() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;               // XFEATURE_XTILE_DATA
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool has_amx() {
  constexpr unsigned kBf16 = 1U << 22;
  constexpr unsigned kTile = 1U << 24;
  constexpr unsigned kInt8 = 1U << 25;
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  const bool has_tiles = __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 && (edx & kTile) != 0 &&
                         (edx & kBf16) != 0 && (edx & kInt8) != 0;
  return has_avx512() && __builtin_cpu_supports("avx512bf16") != 0 && has_tiles && may_use_tiles();
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
    case CpuIsa::kAmx:
      return "amx";
  }
  return "unknown";
}

std::vector<CpuIsa> available_cpu_isas() {
  std::vector<CpuIsa> isas = {CpuIsa::kPortable};
  if (has_avx2()) isas.push_back(CpuIsa::kAvx2);
  if (has_avx512()) isas.push_back(CpuIsa::kAvx512);
  if (has_amx()) isas.push_back(CpuIsa::kAmx);
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
