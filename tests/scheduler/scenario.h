#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "engine/batch.h"
#include "kvcache/shared_block_pool.h"
#include "scheduler/scheduler.h"
#include "tests/scheduler/fake_executor.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {

/// Runs one scenario: text that says, line by line, what is done to the scheduler and what it must answer. The
/// language:
///
///   config block_size=4 blocks=8 max_running=2 max_queued=4 tokens_per_step=16    first, once; any key may be left out
///     [admission=plan] reserve without it    [prefix] prompts share blocks    [prefix=outputs] and so do answers
///     [running_per_tenant=1] [queued_tokens=100] [queued_per_tenant=2] [tpot_target=30]
///     [token_ms=2] a step takes so much longer for each prompt token
///     [full=1] [windowed=2] [window=8] [slice_max=16] groups of layers, tokens that those with a window see, and the
///     longest slice that their rings are made for    [ahead] the loop runs one step ahead
///   limits max_running=1 ...    a change of those of the above that are limits; the others stay
///   submit A prompt=7 max=3 [n=2] [stop=2] [deadline=50] [score] [tenant=x] [priority=-1] [same=5] [penalties]
///     stop: its 2nd token is a stop token; deadline: ms from now; same: the first 5 tokens are those of all who say so
///   explain prompt=7 max=3 [as in submit] => kv before=1 cached=0    what it would lack, or now, or never
///   cancel A  |  cancel A.1  |  fail_all  |  engine_fails  |  advance 5    the last in ms; a step takes 10 ms
///   tick -> A+7 B.0+2 => A#1 B?2    the slices of the step, then what happened since the last tick
///     ahead: the slices of the step that was launched, with A* for a row whose token is still being drawn; then the
///     step before it was collected, if there was one
///   ticks 5    as many ticks, whatever they do
///   expect used=2 reserved=3 running=1 waiting=0 room=3 shared=0 known=0 cached=0 paused=0    any of them; known:
///   blocks
///     in no table with content that is kept; cached: tokens found in the cache; paused: rows left out, each step
///     counted
///
/// Sequences of a request with n > 1 are A.0, A.1, ... Happenings: A#3 (its 3rd token), A?2 (2 prompt tokens scored),
/// A:length, A:stop, A:cancelled, A:never_fits, A:refused, A:deadline, A:internal, A:unavailable. `#` at the start of a
/// line begins a comment.
class Scenario {
 public:
  /// Failures are reported to GoogleTest with file and line.
  void run(const std::string& path);

 private:
  using Options = std::map<std::string, std::string>;

  void run_line(const std::string& line);
  void configure(const Options& options);
  void change_limits(const Options& options);
  Submission submission_of(const Options& options) const;
  void submit(const std::string& name, const Options& options);
  void cancel(const std::string& name);
  void explain(const std::string& line);
  void tick(const std::string& line);
  void tick_often(int count);
  /// A turn of the loop; the slices of the step that it launched.
  std::string turn();
  std::string launch_next();
  bool may_launch_another() const;
  void collect_oldest();
  void expect(const Options& options);

  std::string name_of(RequestId id, int32_t sequence) const;
  std::string text_of(const TokenEvent& event);

  struct Client {
    std::string name;
    Submission submission;
    std::vector<std::vector<int32_t>> expected;  // [sequence][token]
    std::vector<size_t> token_counts;            // [sequence] so far
  };

  ManualClock clock_;
  kvcache::BlockHasher hasher_ = test_hasher();
  bool shares_prefixes_ = false;
  Duration time_per_prompt_token_{};
  std::unique_ptr<kvcache::SharedBlockPool> pool_;
  std::unique_ptr<FakeExecutor> executor_;
  std::unique_ptr<Scheduler> scheduler_;
  engine::Batch batch_;
  std::deque<const StepPlan*> launched_;  // oldest first
  std::map<RequestId, Client> clients_;
};

}  // namespace sluice::scheduler
