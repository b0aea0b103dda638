#pragma once

#include <cstdint>

namespace sluice::engine::cpu {

/// A tile size as a type, so that loops over it unroll into registers.
template <int N>
struct Tile {
  static constexpr int kSize = N;
};

/// Calls body(Tile<n>) for n in [1, N].
template <int N, typename Body>
void with_tile(int32_t n, const Body& body) {
  if constexpr (N > 1) {
    if (n < N) return with_tile<N - 1>(n, body);
  }
  body(Tile<N>());
}

/// Calls body(Tile<n>, begin) for runs of up to N of [0, count).
template <int N, typename Body>
void for_each_tile(int32_t count, const Body& body) {
  for (int32_t begin = 0; begin < count; begin += N) {
    with_tile<N>(count - begin < N ? count - begin : N, [&](auto tile) { body(tile, begin); });
  }
}

}  // namespace sluice::engine::cpu
