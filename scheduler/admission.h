#pragma once

#include <cstdint>

#include "kvcache/block_pool.h"

namespace sluice::scheduler {

enum class Verdict {
  kAdmit,      ///< start it now; it can run to its last token
  kWait,       ///< it fits once others have ended
  kNeverFits,  ///< not even alone
};

/// What a candidate that isn't admitted lacks.
enum class Shortage { kNone, kKv, kRows };

struct Admission {
  Verdict verdict = Verdict::kWait;
  Shortage shortage = Shortage::kNone;
  friend bool operator==(const Admission&, const Admission&) = default;
};

/// What a policy may look at.
struct AdmissionView {
  kvcache::BlockCounts blocks;
  int32_t running = 0;  ///< admitted sequences
  int32_t max_running = 0;
};

/// Policy `reserve`: the final block counts of all admitted sequences together never exceed the capacity, so nobody who
/// runs ever waits for a block. `final_blocks` is ceil((prompt + max_new_tokens) / block_size) of the candidate.
Admission admit_by_reserve(const AdmissionView& view, int64_t final_blocks);

}  // namespace sluice::scheduler
