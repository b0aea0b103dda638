#pragma once

#include <memory>
#include <vector>

#include "engine/backend.h"
#include "engine/rank_group.h"

namespace sluice::engine {

/// What the ranks of a model compute on.
struct RankBackends {
  std::unique_ptr<RankGroup> group;                ///< of the ranks, nullptr for one; outlives their backends
  std::vector<std::unique_ptr<Backend>> backends;  ///< [ranks], each reaching the others
};

}  // namespace sluice::engine
