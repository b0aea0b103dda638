#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <cublasLt.h>

/// What a question for algorithms tells of a product.
struct AskedProduct {
  int64_t rows = 0;  ///< ours, cuBLASLt's columns
  cudaDataType_t type = CUDA_R_32F;
  bool has_bias = false;
  uint32_t bias_alignment = 0;
  std::array<uint32_t, 4> alignments{};  ///< of A, B, C and D
  bool may_split = false;
};

/// What a library in the place of cuBLASLt does and has seen. It multiplies as NVIDIA documents it, by columns, and
/// refuses what NVIDIA says that it refuses. Memory is this machine's, and a product is done when the call returns.
struct ImaginedCublas {
  // What a test sets.
  std::string failing_call;                             ///< create, describe, ask or multiply: INTERNAL_ERROR
  cublasStatus_t asked_result = CUBLAS_STATUS_SUCCESS;  ///< of a question that doesn't fail
  std::vector<int32_t> split_counts = {1};              ///< of the algorithms, the best first
  bool takes_fewer_rows = true;                         ///< an algorithm takes fewer than it was asked for

  // What it finds.
  std::vector<AskedProduct> questions;
  std::vector<int32_t> splits_run;  ///< of the algorithms that products were computed by
  int32_t open_handles = 0;
};

/// The library of this program, as it was when it was asked for anew.
ImaginedCublas& new_imagined_cublas();
