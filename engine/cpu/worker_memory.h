#pragma once

#include "engine/cpu/column_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/matrix_product.h"
#include "engine/sampler.h"

namespace sluice::engine::cpu {

/// What each worker needs for itself.
struct alignas(64) WorkerMemory {
  explicit WorkerMemory(const Kernels& kernels) : columns(kernels) {}

  ProductMemory products;
  ColumnBuffer columns;  // of a step's only token
  SamplerScratch sampler;
};

}  // namespace sluice::engine::cpu
