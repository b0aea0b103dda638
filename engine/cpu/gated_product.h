#pragma once

#include "base/check.h"
#include "engine/cpu/activation.h"
#include "engine/cpu/column_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/matrix_product.h"
#include "engine/model_config.h"

namespace sluice::engine::cpu {

/// out[t] = activation(gate * column t) . (up * column t), gate and up being the two parts of `gate_up`, in a region.
inline void multiply_gated(ThreadPool::Worker& worker, const Kernels& kernels, const ColumnBuffer& columns,
                           const PackedMatrix& gate_up, GateActivation activation, ProductMemory& memory,
                           Activation& out) {
  SLUICE_CHECK(gate_up.parts.size() == 2);
  const PackedPart& gate = gate_up.parts[0];
  const PackedPart& up = gate_up.parts[1];
  SLUICE_CHECK(gate.row_count == out.width && up.row_count == out.width);
  const auto gate_multiply = activation == GateActivation::kSilu ? kernels.silu_multiply : kernels.gelu_multiply;
  multiply_side_by_side(worker, kernels, columns, gate, up, memory, [&](int32_t panel, const ColumnTile& tile) {
    gate_multiply(memory.first.data(), memory.second.data(), tile.count * kPanelRows);
    const PanelRef rows{&gate, panel};
    put(kernels, {rows.first_row(), rows.row_count(), tile.token, tile.count, memory.first.data()}, nullptr, out.row(0),
        out.width);
  });
}

}  // namespace sluice::engine::cpu
