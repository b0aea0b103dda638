#include "scheduler/admitter.h"

#include <algorithm>
#include <utility>

namespace sluice::scheduler {
namespace {

constexpr size_t kLookahead = 8;    // requests looked at behind one that can't start
constexpr size_t kCollected = 64;   // the same, with those that only wait for a prompt to share
constexpr int32_t kPassersMax = 2;  // of these, how many are held against the forecast
constexpr int32_t kSpareFrom = 8;   // rows from which one can be kept free: with fewer it would cost too much

}  // namespace

std::optional<Start> Admitter::next(const SchedulerConfig& limits) {
  if (parts_.queue.empty()) return std::nullopt;
  head_.reset();
  int32_t passers = 0;
  size_t looked_at = 0;
  parts_.queue.collect(kCollected, running_per_tenant(limits), order_);
  for (Request* request : order_) {
    if (passers == kPassersMax || looked_at == kLookahead) return std::nullopt;  // no one else may pass
    Start start{.request = request, .sequence = request->first_waiting(), .table = {}};
    const bool needs_nothing = !start.sequence->has_work();
    const Shortage shortage = needs_nothing ? Shortage::kNone : try_on(limits, start, request->tenant());
    request->set_shortage(shortage);
    if (shortage == Shortage::kNone && !head_) return start;
    if (shortage == Shortage::kRows) return std::nullopt;
    looked_at += shortage == Shortage::kPrefix ? 0 : 1;
    if (shortage == Shortage::kNone) {
      if (may_pass(limits, start)) return start;
      ++passers;
      request->set_shortage(Shortage::kOrder);
    }
    take_off(start);
    if (shortage == Shortage::kKv && !head_) {
      head_ = load_of(*start.sequence, start.table, parts_.lengths.entry_of(request->tenant()), parts_.pool);
      head_steps_.reset();
    }
  }
  return std::nullopt;
}

int32_t Admitter::running_per_tenant(const SchedulerConfig& limits) const {
  const int32_t own_limit = limits.max_running_per_tenant;
  const std::optional<int32_t> share = parts_.tenants.share();
  const bool is_last_row = parts_.running.count() == limits.max_running - 1;
  if (!share || !is_last_row || limits.max_running < kSpareFrom) return own_limit;
  return own_limit == 0 ? *share : std::min(*share, own_limit);
}

Shortage Admitter::fitting(const SchedulerConfig& limits, Sequence& sequence, int32_t tenant) {
  if (parts_.running.count() >= limits.max_running) return Shortage::kRows;
  if (parts_.tenants.is_at_limit(tenant, running_per_tenant(limits))) return Shortage::kTenant;
  return is_prefix_pending(sequence) ? Shortage::kPrefix : Shortage::kNone;
}

/// Tries the sequence on, with the blocks it can share, and takes it off again if it does not fit.
Shortage Admitter::try_on(const SchedulerConfig& limits, Start& start, int32_t tenant) {
  if (const Shortage shortage = fitting(limits, *start.sequence, tenant); shortage != Shortage::kNone) return shortage;
  kvcache::SharedBlockPool& pool = parts_.pool;
  const Sequence& sequence = *start.sequence;
  start.table =
      pool.new_table(static_cast<int32_t>(pool.growth().blocks_for(int64_t{sequence.token_count()} + sequence.left())));
  start.cached_tokens = parts_.sharing.attach(sequence, start.table);
  // What it shares, its owners own no longer.
  if (start.cached_tokens > 0) parts_.running.measure(pool);
  const SequenceLoad load = load_of(sequence, start.table, parts_.lengths.entry_of(tenant), pool);
  const int32_t to_take = load.table - start.table.count();
  const kvcache::SharedBlockCounts counts = pool.counts();
  parts_.running.push_load(load);
  const bool fits = admission_.admits(limits.policy(),
                                      {.sequences = parts_.running.loads(),
                                       .capacity = counts.capacity,
                                       .shared = counts.shared,
                                       .free = counts.free - to_take,
                                       .growth = pool.growth(),
                                       .is_jammed = parts_.running.is_jammed()},
                                      parts_.margin.z());
  parts_.running.pop_load();
  if (fits) return Shortage::kNone;
  take_off(start);
  return Shortage::kKv;
}

void Admitter::take_off(Start& start) {
  start.table.release();
  if (std::exchange(start.cached_tokens, 0) > 0) parts_.running.measure(parts_.pool);
}

bool Admitter::is_prefix_pending(const Sequence& sequence) const {
  if (!sequence.submission().prefix_keys) return false;
  const int32_t known = parts_.sharing.known_blocks(sequence);
  for (const RunningRow& row : parts_.running.rows()) {
    // The sibling that scores computes all of the prompt; with what is cached, this one would overtake it.
    const bool is_sibling = &row.sequence->submission() == &sequence.submission();
    if (is_sibling && row.sequence->scores_prompt() && row.sequence->is_prefill()) return true;
    if (parts_.sharing.is_computing_for(*row.sequence, sequence, known)) return true;
  }
  return false;
}

StartView Admitter::start_view(const SchedulerConfig& limits) const {
  const kvcache::SharedBlockCounts counts = parts_.pool.counts();
  return {.running = parts_.running.loads(),
          .capacity = counts.capacity,
          .shared = counts.shared,
          .growth = parts_.pool.growth(),
          .max_running = limits.max_running,
          .policy = limits.policy(),
          .z = parts_.margin.z()};
}

bool Admitter::may_pass(const SchedulerConfig& limits, const Start& start) {
  const int32_t lengths = parts_.lengths.entry_of(start.request->tenant());
  const SequenceLoad load = load_of(*start.sequence, start.table, lengths, parts_.pool);
  const StartView view = start_view(limits);
  if (!head_steps_) head_steps_ = forecast_.steps_until_start(view, *head_);
  return !forecast_.delays(view, load, *head_, *head_steps_);
}

Admitter::Outlook Admitter::outlook(const SchedulerConfig& limits, Sequence& sequence, int32_t tenant) {
  Start start{.request = nullptr, .sequence = &sequence, .table = {}};
  Outlook outlook{.cached_tokens = parts_.sharing.known_blocks(sequence) * parts_.pool.block_size()};
  outlook.shortage = try_on(limits, start, tenant);
  take_off(start);
  if (outlook.shortage == Shortage::kNone) return outlook;
  const SequenceLoad load = load_of(sequence, start.table, parts_.lengths.entry_of(tenant), parts_.pool);
  outlook.steps = forecast_.steps_until_start(start_view(limits), load);
  return outlook;
}

}  // namespace sluice::scheduler
