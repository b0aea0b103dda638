#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/cpu/huge_buffer.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/matrix_product.h"
#include "engine/logit_row.h"

namespace sluice::engine::cpu {

inline constexpr int32_t kLogitRowsMax = 32;  ///< rows whose logits exist at once

/// The logits of some rows and the tops of their blocks, which are the panels of the head's product. Different panels
/// may be stored by different threads.
class LogitStore {
 public:
  /// Room for rows of up to `vocab_size`; never shrinks.
  Status reserve(int32_t vocab_size);

  /// The following rows have `vocab_size` logits; there is room for them.
  void begin(int32_t vocab_size);
  void store(const Kernels& kernels, const PanelResult& result);
  LogitRow row(int32_t row);

 private:
  int32_t vocab_size_max_ = 0;  // capacity
  int32_t vocab_size_ = 0;
  HugeBuffer values_;  // [kLogitRowsMax, vocab_size]
  HugeBuffer tops_;    // [kLogitRowsMax, vocab_size / kLogitBlock]
};

}  // namespace sluice::engine::cpu
