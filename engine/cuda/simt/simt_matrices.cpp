#include <array>
#include <cstring>

#include "engine/cuda/simt/simt_block.h"
#include "engine/cuda/simt/simt_calls.h"
#include "engine/cuda/simt/simt_numbers.h"

// The layouts are those of PTX's ldmatrix and mma.m16n8k16, as gpu.h says them.
namespace sluice::gpu::simt {
namespace {

constexpr size_t kRowBytes = 16;

struct LoadArguments {
  uint32_t* to;     // [4]
  const void* row;  // [8] of 16 bits
};

struct ProductArguments {
  float* sum;         // [4]
  const uint32_t* a;  // [4]
  const uint32_t* b;  // [2]
};

using Matrix = std::array<std::array<uint16_t, 8>, 8>;

/// Matrix `number` of the four, whose rows are named by lanes 8 number and on.
Matrix gather(const WarpArguments& lanes, size_t number) {
  Matrix matrix;
  for (size_t row = 0; row < 8; ++row)
    std::memcpy(matrix[row].data(), static_cast<LoadArguments*>(lanes[8 * number + row])->row, kRowBytes);
  return matrix;
}

uint32_t pair(uint16_t low, uint16_t high) {
  return low | static_cast<uint32_t>(high) << 16;
}

template <bool kTransposed>
void carry_out_load(const WarpArguments& lanes) {
  for (size_t number = 0; number < 4; ++number) {
    const Matrix matrix = gather(lanes, number);
    for (size_t lane = 0; lane < kWarpSize; ++lane) {
      const size_t row = lane / 4;
      const size_t column = 2 * (lane % 4);
      static_cast<LoadArguments*>(lanes[lane])->to[number] = kTransposed
                                                                 ? pair(matrix[column][row], matrix[column + 1][row])
                                                                 : pair(matrix[row][column], matrix[row][column + 1]);
    }
  }
}

void check_row(const void* row, int line) {
  if (!this_block().shared().holds(row, kRowBytes)) this_block().fail("load_matrices outside of shared memory", line);
  if (reinterpret_cast<uintptr_t>(row) % kRowBytes != 0)
    this_block().fail("load_matrices of a row that is not at a multiple of 16 bytes", line);
}

void load(const char* name, uint32_t* to, const void* row, void (*carry_out)(const WarpArguments& lanes), int line) {
  check_row(row, line);
  this_block().note_access(row, kRowBytes, false);
  LoadArguments arguments{to, row};
  this_block().meet_warp({name, kFullMask, line, carry_out, &arguments});
}

float low(uint32_t bits) {
  return bf16_to_float(static_cast<uint16_t>(bits & 0xFFFFU));
}
float high(uint32_t bits) {
  return bf16_to_float(static_cast<uint16_t>(bits >> 16));
}

/// The operands of a warp's product, whole.
struct Operands {
  float a[16][16];  // [row, inner]
  float b[16][8];   // [inner, column]
};

void gather_lane(Operands& operands, size_t lane, const ProductArguments& from) {
  const size_t g = lane / 4;
  const size_t t = lane % 4;
  for (size_t i = 0; i < 4; ++i) {
    const size_t row = g + 8 * (i % 2);
    const size_t inner = 2 * t + 8 * (i / 2);
    operands.a[row][inner] = low(from.a[i]);
    operands.a[row][inner + 1] = high(from.a[i]);
  }
  for (size_t i = 0; i < 2; ++i) {
    operands.b[2 * t + 8 * i][g] = low(from.b[i]);
    operands.b[2 * t + 8 * i + 1][g] = high(from.b[i]);
  }
}

void carry_out_product(const WarpArguments& lanes) {
  Operands operands;
  for (size_t lane = 0; lane < kWarpSize; ++lane)
    gather_lane(operands, lane, *static_cast<ProductArguments*>(lanes[lane]));
  for (size_t lane = 0; lane < kWarpSize; ++lane) {
    float* const sum = static_cast<ProductArguments*>(lanes[lane])->sum;
    for (size_t i = 0; i < 4; ++i) {
      const size_t row = lane / 4 + 8 * (i / 2);
      const size_t column = 2 * (lane % 4) + i % 2;
      for (size_t inner = 0; inner < 16; ++inner) sum[i] += operands.a[row][inner] * operands.b[inner][column];
    }
  }
}

}  // namespace

void load_matrices(uint32_t (&to)[4], const void* shared_row, int line) {
  load("load_matrices", to, shared_row, carry_out_load<false>, line);
}

void load_matrices_transposed(uint32_t (&to)[4], const void* shared_row, int line) {
  load("load_matrices_transposed", to, shared_row, carry_out_load<true>, line);
}

void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int line) {
  ProductArguments arguments{sum, a, b};
  this_block().meet_warp({"multiply_add", kFullMask, line, carry_out_product, &arguments});
}

}  // namespace sluice::gpu::simt
