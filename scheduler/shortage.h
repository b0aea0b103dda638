#pragma once

#include <string_view>

namespace sluice::scheduler {

/// What a candidate that isn't admitted lacks.
enum class Shortage {
  kNone,
  kKv,        ///< blocks, now or later on
  kRows,      ///< scheduler.max_running
  kTenant,    ///< scheduler.max_running_per_tenant, or his tenant has his share and the last free row is for others
  kPrefix,    ///< somebody is computing a beginning that it shares; it waits to share the blocks too
  kOrder,     ///< those before it
  kQueue,     ///< a place in the queue
  kDeadline,  ///< time
};

std::string_view shortage_name(Shortage shortage);

}  // namespace sluice::scheduler
