#include "engine/cpu/machine_limits.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

namespace sluice::engine::cpu {
namespace {

constexpr int32_t kRounds = 3;
constexpr size_t kPieceBytes = size_t{256} << 10;

/// The shortest of some rounds of `work`.
template <typename Work>
double best_seconds(const Clock& clock, const Work& work) {
  double best = 1e9;
  for (int32_t round = 0; round < kRounds; ++round) {
    const TimePoint began = clock.now();
    work();
    best = std::min(best, to_seconds(clock.now() - began));
  }
  return std::max(best, 1e-9);
}

using Vector = uint64_t __attribute__((vector_size(64)));

uint64_t fold(std::span<const std::byte> memory) {
  constexpr size_t kAhead = 4096;  // the hardware's prefetcher stops at every page
  constexpr size_t kStride = 4 * sizeof(Vector);
  Vector sums[4] = {};
  for (size_t at = 0; at + kStride <= memory.size(); at += kStride) {
    for (size_t lane = 0; lane < 4; ++lane) {
      const std::byte* from = memory.data() + at + lane * sizeof(Vector);
      __builtin_prefetch(from + kAhead);
      Vector value;
      std::memcpy(&value, from, sizeof(value));
      sums[lane] ^= value;
    }
  }
  const Vector sum = sums[0] ^ sums[1] ^ sums[2] ^ sums[3];
  return sum[0] ^ sum[1] ^ sum[2] ^ sum[3] ^ sum[4] ^ sum[5] ^ sum[6] ^ sum[7];
}

std::vector<std::span<const std::byte>> pieces_of(std::span<const std::span<const std::byte>> memory) {
  std::vector<std::span<const std::byte>> pieces;
  for (std::span<const std::byte> rest : memory) {
    for (; !rest.empty(); rest = rest.subspan(pieces.back().size()))
      pieces.push_back(rest.first(std::min(rest.size(), kPieceBytes)));
  }
  return pieces;
}

double measure_read(ThreadPool& pool, std::span<const std::span<const std::byte>> memory, const Clock& clock) {
  const std::vector<std::span<const std::byte>> pieces = pieces_of(memory);
  size_t bytes = 0;
  for (const auto& piece : pieces) bytes += piece.size();
  std::vector<uint64_t> results(pieces.size());  // what is computed must go somewhere, or nothing is read
  const double seconds = best_seconds(clock, [&] {
    pool.run([&](ThreadPool::Worker& worker) {
      worker.for_each(static_cast<int32_t>(pieces.size()), 1,
                      [&](int32_t i) { results[static_cast<size_t>(i)] = fold(pieces[static_cast<size_t>(i)]); });
    });
  });
  return static_cast<double>(bytes) / seconds;
}

// Independent instructions of the kind that products are made of, as many as hide their latency. Registers hold
// whatever they hold: the time doesn't depend on it. Each returns the multiply-accumulates done.

constexpr int64_t kTurns = 200'000;

double spend_avx2() {
  // A product and a sum of pairs, as in dot_pairs.h; four accumulators.
  asm volatile(
      "mov %0, %%rcx\n"
      "1:\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm2\n vpaddw %%ymm2, %%ymm8, %%ymm8\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm3\n vpaddw %%ymm3, %%ymm9, %%ymm9\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm4\n vpaddw %%ymm4, %%ymm10, %%ymm10\n"
      "vpmaddubsw %%ymm0, %%ymm1, %%ymm5\n vpaddw %%ymm5, %%ymm11, %%ymm11\n"
      "dec %%rcx\n jnz 1b\n"
      "vzeroupper\n"
      :
      : "r"(kTurns)
      : "rcx", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc");
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
      "vzeroupper\n"
      :
      : "r"(kTurns)
      : "rcx", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11",
        "xmm12", "xmm13", "xmm14", "xmm15", "cc");
  return static_cast<double>(kTurns) * 12 * 64;
}

/// What ldtilecfg reads: eight tiles of 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileShapes) == 64);

double spend_tiles() {
  const TileShapes shapes;
  constexpr int64_t kTileTurns = kTurns / 10;  // one takes as long as sixteen vector instructions
  asm volatile(
      "ldtilecfg (%1)\n"
      "tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n tilezero %%tmm3\n tilezero %%tmm4\n tilezero %%tmm5\n"
      "mov %0, %%rcx\n"
      "1:\n"
      "tdpbf16ps %%tmm5, %%tmm4, %%tmm0\n tdpbf16ps %%tmm5, %%tmm4, %%tmm1\n"
      "tdpbf16ps %%tmm5, %%tmm4, %%tmm2\n tdpbf16ps %%tmm5, %%tmm4, %%tmm3\n"
      "dec %%rcx\n jnz 1b\n"
      "tilerelease\n"
      :
      : "r"(kTileTurns), "r"(&shapes)
      : "rcx", "cc", "memory");
  return static_cast<double>(kTileTurns) * 4 * 16 * 16 * 32;
}

double measure_macs(ThreadPool& pool, double (*spend)(), const Clock& clock) {
  // By worker: a thread that other processes kept out of the region has done nothing.
  std::vector<double> done(static_cast<size_t>(pool.thread_count()));
  double best = 0;
  for (int32_t round = 0; round < kRounds; ++round) {
    std::ranges::fill(done, 0);
    const TimePoint began = clock.now();
    pool.run([&](ThreadPool::Worker& worker) { done[static_cast<size_t>(worker.index())] = spend(); });
    const double seconds = std::max(to_seconds(clock.now() - began), 1e-9);
    double macs = 0;
    for (const double part : done) macs += part;
    best = std::max(best, macs / seconds);
  }
  return best;
}

}  // namespace

MachineLimits measure_limits(ThreadPool& pool, CpuIsa isa, std::span<const std::span<const std::byte>> memory,
                             const Clock& clock) {
  MachineLimits limits{.read_bytes_per_second = measure_read(pool, memory, clock)};
  if (isa == CpuIsa::kAvx2) limits.vector_macs_per_second = measure_macs(pool, spend_avx2, clock);
  if (isa >= CpuIsa::kAvx512) limits.vector_macs_per_second = measure_macs(pool, spend_avx512, clock);
  if (isa == CpuIsa::kAmx) limits.tile_macs_per_second = measure_macs(pool, spend_tiles, clock);
  return limits;
}

}  // namespace sluice::engine::cpu
