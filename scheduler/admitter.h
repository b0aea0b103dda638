#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "kvcache/shared_block_pool.h"
#include "scheduler/admission.h"
#include "scheduler/length_book.h"
#include "scheduler/pause_margin.h"
#include "scheduler/prefix_sharing.h"
#include "scheduler/request_queue.h"
#include "scheduler/running_rows.h"
#include "scheduler/scheduler_config.h"
#include "scheduler/start_forecast.h"
#include "scheduler/tenant_book.h"

namespace sluice::scheduler {

/// A sequence that may start, with the blocks of its prompt.
struct Start {
  Request* request = nullptr;
  Sequence* sequence = nullptr;
  kvcache::BlockTable table;
  int32_t cached_tokens = 0;
};

/// Finds who may start next. The first in the queue's order goes first; one behind it may pass if it fits and, by the
/// forecast, costs the first no time; who shares a beginning that is being computed waits for it and is passed. While
/// several tenants send requests, the last free row is for one who has less than his share of the rows: else whoever
/// comes after a loud one waits until somebody ends. Lends everything; one thread.
class Admitter {
 public:
  struct Parts {
    kvcache::SharedBlockPool& pool;
    PrefixSharing& sharing;
    RequestQueue& queue;
    RunningRows& running;
    TenantBook& tenants;
    LengthBook& lengths;
    const PauseMargin& margin;
  };

  explicit Admitter(const Parts& parts)
      : parts_(parts), admission_(parts.lengths, parts.pool.growth()), forecast_(parts.lengths, parts.pool.growth()) {}

  /// The next to start, if there is one; the running rows' loads are measured. Requests that were looked at know what
  /// they lack.
  std::optional<Start> next(const SchedulerConfig& limits);

  /// For telling, not for deciding: what a sequence lacks now if it were the first in the queue, and in how many steps
  /// it could start.
  struct Outlook {
    Shortage shortage = Shortage::kNone;
    int32_t steps = 0;
    int32_t cached_tokens = 0;
  };
  Outlook outlook(const SchedulerConfig& limits, Sequence& sequence, int32_t tenant);

 private:
  /// Sequences that one tenant may have running when the next starts, 0: any number.
  int32_t running_per_tenant(const SchedulerConfig& limits) const;
  Shortage fitting(const SchedulerConfig& limits, Sequence& sequence, int32_t tenant);
  Shortage try_on(const SchedulerConfig& limits, Start& start, int32_t tenant);
  void take_off(Start& start);
  bool is_prefix_pending(const Sequence& sequence) const;
  StartView start_view(const SchedulerConfig& limits) const;
  bool may_pass(const SchedulerConfig& limits, const Start& start);

  Parts parts_;
  Admission admission_;
  StartForecast forecast_;
  std::vector<Request*> order_;  // scratch
  // The first in the order that lacks blocks: nobody may pass it at its cost.
  std::optional<SequenceLoad> head_;
  std::optional<int32_t> head_steps_;  // until it starts, as far as anybody had to know
};

}  // namespace sluice::scheduler
