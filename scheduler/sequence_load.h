#pragma once

#include <cstdint>

namespace sluice::scheduler {

/// What a policy knows of one sequence, admitted or about to be. Blocks that several tables share count for nobody
/// here; the view they come with counts them once.
struct SequenceLoad {
  int32_t table = 0;         ///< blocks in its table
  int32_t owned = 0;         ///< of these, blocks in no other table: what its end sets free
  int32_t final_blocks = 0;  ///< blocks of its table at its cap
  int32_t tokens = 0;        ///< prompt and output so far; the whole prompt has its blocks from admission on
  int32_t drawn = 0;         ///< output so far
  int32_t left = 0;          ///< tokens it may still draw
  int32_t lengths = 0;       ///< which survival function foretells its output; see OutputLengths

  int32_t need() const { return final_blocks - table; }
  int32_t shared() const { return table - owned; }
  /// Blocks that it owns at its cap, if nobody else comes to share them.
  int32_t finally_owned() const { return final_blocks - shared(); }
};

}  // namespace sluice::scheduler
