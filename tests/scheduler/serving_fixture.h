#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/mutex.h"
#include "kvcache/block_key.h"
#include "scheduler/mailbox.h"
#include "scheduler/serving_loop.h"
#include "tests/scheduler/fake_executor.h"

namespace sluice::scheduler {

/// Keeps every event and lets other threads wait for what they need to see.
class CollectingSink final : public EventSink {
 public:
  void deliver(std::vector<TokenEvent> events) override {
    {
      const MutexLock lock(mutex_);
      ++delivery_count_;
      for (TokenEvent& event : events) events_.push_back(std::move(event));
    }
    changed_.notify_all();
  }

  /// Blocks until `condition` holds for all events so far; returns them.
  std::vector<TokenEvent> wait_until(const std::function<bool(const std::vector<TokenEvent>&)>& condition) {
    const MutexLock lock(mutex_);
    while (!condition(events_)) changed_.wait(mutex_);
    return events_;
  }
  std::vector<TokenEvent> events() const {
    const MutexLock lock(mutex_);
    return events_;
  }
  int delivery_count() const {
    const MutexLock lock(mutex_);
    return delivery_count_;
  }

 private:
  mutable Mutex mutex_;
  CondVar changed_;
  std::vector<TokenEvent> events_ SLUICE_GUARDED_BY(mutex_);
  int delivery_count_ SLUICE_GUARDED_BY(mutex_) = 0;
};

template <typename What>
int count_of(const std::vector<TokenEvent>& events) {
  return static_cast<int>(std::count_if(
      events.begin(), events.end(), [](const TokenEvent& event) { return std::holds_alternative<What>(event.what); }));
}

template <typename What>
int count_of(const std::vector<TokenEvent>& events, uint64_t id) {
  return static_cast<int>(std::count_if(events.begin(), events.end(), [id](const TokenEvent& event) {
    return event.request.value == id && std::holds_alternative<What>(event.what);
  }));
}

/// The first event of this kind and request; throws, and so fails the test, when there is none.
template <typename What>
const What& event_of(const std::vector<TokenEvent>& events, uint64_t id) {
  for (const TokenEvent& event : events) {
    if (event.request.value == id && std::holds_alternative<What>(event.what)) return std::get<What>(event.what);
  }
  throw std::out_of_range("no such event of request " + std::to_string(id));
}

inline std::vector<int32_t> tokens_of(const std::vector<TokenEvent>& events, uint64_t id, int32_t sequence = 0) {
  std::vector<int32_t> tokens;
  for (const TokenEvent& event : events) {
    const auto* sampled = std::get_if<TokenSampled>(&event.what);
    if (sampled != nullptr && event.request.value == id && sampled->sequence == sequence) {
      tokens.push_back(sampled->token.token);
    }
  }
  return tokens;
}

/// A hasher with a secret that is none, so that every run is the same.
inline kvcache::BlockHasher test_hasher() {
  const std::array<std::byte, kvcache::BlockHasher::kSecretBytesMin> secret{};
  return {secret, "fake model"};
}

/// Names the prompt's blocks, so that it may share them with others of this salt.
inline void add_prefix_keys(Submission& submission, const kvcache::BlockHasher& hasher, int32_t block_size,
                            const std::string& salt = "") {
  submission.prefix_keys = PrefixKeys{.root = hasher.root(salt),
                                      .blocks = kvcache::prompt_keys(hasher, salt, submission.prompt, block_size)};
}

inline Submission make_submission(uint64_t id, int32_t prompt_length, int32_t max_new_tokens) {
  Submission submission;
  submission.id = {id};
  submission.seed = id;
  submission.max_new_tokens = max_new_tokens;
  for (int32_t i = 0; i < prompt_length; ++i) {
    submission.prompt.push_back(static_cast<int32_t>((id * 31 + static_cast<uint64_t>(i) * 7) % 997));
  }
  return submission;
}

/// Everything a serving loop needs, with the fake model.
struct ServingParts {
  static constexpr int32_t kVocabSize = 1000;

  explicit ServingParts(const SchedulerConfig& config, int32_t block_count = 64, int32_t block_size = 4,
                        int32_t steps_ahead = 0)
      : pool(block_count, block_size),
        scheduler(config, pool, hasher, false),
        executor(block_count, {block_size}, kVocabSize, steps_ahead),
        mailbox(config.max_queued_requests + config.max_running) {}

  kvcache::BlockHasher hasher = test_hasher();
  kvcache::SharedBlockPool pool;
  Scheduler scheduler;
  FakeExecutor executor;
  Mailbox mailbox;
  CollectingSink sink;
  LoopStats stats;
};

}  // namespace sluice::scheduler
