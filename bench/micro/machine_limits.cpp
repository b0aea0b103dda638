#include "bench/micro/machine_limits.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string_view>
#include <thread>
#include <vector>

namespace sluice::bench {

namespace {

// Of all threads: as much as the weights of the default model, which some machines can keep in their last cache.
constexpr size_t kReadBytes = size_t{96} << 20;
constexpr int32_t kRounds = 5;

/// The shortest of some rounds in which `threads` threads do `work` at once.
double best_seconds(int32_t threads, const Clock& clock, const std::function<void(int32_t)>& work) {
  double best = 1e9;
  for (int32_t round = 0; round < kRounds; ++round) {
    const TimePoint began = clock.now();
    std::vector<std::thread> helpers;
    for (int32_t i = 1; i < threads; ++i) helpers.emplace_back([&work, i] { work(i); });
    work(0);
    for (std::thread& helper : helpers) helper.join();
    best = std::min(best, to_seconds(clock.now() - began));
  }
  return best;
}

using Vector = uint64_t __attribute__((vector_size(64)));

uint64_t fold(const std::vector<Vector>& vectors) {
  constexpr size_t kAhead = 64;  // 4 KiB: the hardware's prefetcher stops at every page
  Vector sums[4] = {};
  for (size_t i = 0; i + 4 <= vectors.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      __builtin_prefetch(vectors.data() + i + lane + kAhead);
      sums[lane] ^= vectors[i + lane];
    }
  }
  const Vector sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

double measure_read(int32_t threads, const Clock& clock) {
  const size_t each = kReadBytes / sizeof(Vector) / static_cast<size_t>(threads);
  const std::vector<std::vector<Vector>> memory(static_cast<size_t>(threads), std::vector<Vector>(each));
  std::vector<uint64_t> results(static_cast<size_t>(threads));
  const double seconds = best_seconds(
      threads, clock, [&](int32_t i) { results[static_cast<size_t>(i)] = fold(memory[static_cast<size_t>(i)]); });
  return static_cast<double>(threads) * static_cast<double>(each * sizeof(Vector)) / seconds;
}

// Independent instructions of the kind that products are made of, as many as hide their latency. Registers hold
// whatever they hold: the time doesn't depend on it. Returns the multiply-accumulates done.

constexpr int64_t kTurns = 2'000'000;

double spend_avx2() {
  // A product and a sum of pairs, as in dot_pairs.h; eight accumulators.
  asm volatile(
      "mov %0, %%rcx\n"
      "1:\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm2\n vpaddw %%ymm2, %%ymm8, %%ymm8\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm3\n vpaddw %%ymm3, %%ymm9, %%ymm9\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm4\n vpaddw %%ymm4, %%ymm10, %%ymm10\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm5\n vpaddw %%ymm5, %%ymm11, %%ymm11\n"
      "dec %%rcx\n jnz 1b\n"
      :
      : "r"(kTurns)
      : "rcx", "xmm2", "xmm3", "xmm4", "xmm5", "xmm8", "xmm9", "xmm10", "xmm11", "cc");
  return static_cast<double>(kTurns) * 4 * 32;
}

double spend_avx512() {
  asm volatile(
      "mov %0, %%rcx\n"
      "1:\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm4\n vpdpbusd %%zmm0, %%zmm1, %%zmm5\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm6\n vpdpbusd %%zmm0, %%zmm1, %%zmm7\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm8\n vpdpbusd %%zmm0, %%zmm1, %%zmm9\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm10\n vpdpbusd %%zmm0, %%zmm1, %%zmm11\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm12\n vpdpbusd %%zmm0, %%zmm1, %%zmm13\n"
      "vpdpbusd %%zmm0, %%zmm1, %%zmm14\n vpdpbusd %%zmm0, %%zmm1, %%zmm15\n"
      "dec %%rcx\n jnz 1b\n"
      :
      : "r"(kTurns)
      : "rcx", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15",
        "cc");
  return static_cast<double>(kTurns) * 12 * 64;
}

double peak_of(std::string_view isa, int32_t threads, const Clock& clock) {
  // Products in tiles are held against bytes without them: what tiles gain shows as a share above one.
  double (*const spend)() = isa == "avx2" ? spend_avx2 : spend_avx512;
  if (isa == "portable") return 0;
  double macs = 0;
  const double seconds = best_seconds(threads, clock, [&](int32_t i) {
    const double done = spend();
    if (i == 0) macs = done;
  });
  return macs * threads / seconds;
}

}  // namespace

MachineLimits measure_limits(const char* isa, int32_t threads, const Clock& clock) {
  return {.read_bytes_per_second = measure_read(threads, clock), .macs_per_second = peak_of(isa, threads, clock)};
}

}  // namespace sluice::bench
