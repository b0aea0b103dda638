#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/cuda/host_device.h"
#include "engine/model_executor.h"
#include "engine/model_loader.h"
#include "scheduler/serving_loop.h"
#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

using ::testing::HasSubstr;
using Events = std::vector<TokenEvent>;

constexpr int32_t kBlockSize = 16;
constexpr int32_t kVocabSize = 320;

/// A tiny model on the simulated GPU, with `blocks` blocks of cache.
class TinyGpu {
 public:
  explicit TinyGpu(int32_t blocks) : blocks_(blocks) {
    const auto checkpoint = engine::Checkpoint::open(SLUICE_SOURCE_DIR "/tests/data/tiny/llama").value();
    engine::LoadedModel model = load_model(*checkpoint, engine::make_cuda_backend(device_, {}), kStepTokens).value();
    const auto layout = engine::KvLayout::for_model(model.config, kBlockSize, engine::KvType::kBf16, kStepTokens);
    executor_ = engine::ModelExecutor::create(std::move(model), layout, blocks).value();
  }

  /// Serves the requests, which all come at once, to their ends.
  Events serve(std::vector<Submission> submissions) {
    const SchedulerConfig config{.max_running = 8, .max_queued_requests = 16, .tokens_per_step = kStepTokens};
    const kvcache::BlockHasher hasher = test_hasher();
    kvcache::SharedBlockPool pool(blocks_, kBlockSize);
    Scheduler scheduler(config, pool, hasher, false);
    Mailbox mailbox(config.max_queued_requests + config.max_running);
    CollectingSink sink;
    LoopStats stats;
    const ManualClock clock;
    ServingLoop loop(scheduler, *executor_, mailbox, sink, clock, stats);
    for (Submission& submission : submissions) EXPECT_TRUE(mailbox.try_post(std::move(submission)));
    mailbox.close();
    loop.run();
    EXPECT_EQ(pool.counts().used, 0);
    EXPECT_EQ(scheduler.waiting_count(), 0);
    return sink.events();
  }
  int32_t steps_ahead() const { return executor_->steps_ahead(); }

 private:
  static constexpr int32_t kStepTokens = 64;

  engine::cuda::HostDevice device_{int64_t{256} << 20};
  const int32_t blocks_;
  std::unique_ptr<engine::ModelExecutor> executor_;
};

Submission request(uint64_t id, int32_t prompt_length, int32_t max_new_tokens) {
  Submission submission = make_submission(id, prompt_length, max_new_tokens);
  for (int32_t& token : submission.prompt) token %= kVocabSize;
  submission.sampling.temperature = 0.8F;
  return submission;
}

TEST(B22_NeverFitsOnDevice, a_LongRequestIsRefusedAtOnceAndTheShortOnesFinish) {
  TinyGpu gpu(4);
  const Events events = gpu.serve({request(1, 100, 4), request(2, 5, 4), request(3, 5, 4), request(4, 5, 4)});
  EXPECT_THAT(event_of<Refused>(events, 1).status.message(),
              HasSubstr("need 104 places in the KV cache, which has 64"));
  EXPECT_EQ(count_of<SequenceFinished>(events), 3);
}

TEST(B22_NeverFitsOnDevice, b_TheLastLengthThatWorksFillsTheCache) {
  TinyGpu gpu(4);
  const Events events = gpu.serve({request(63, 63, 1), request(64, 64, 1), request(65, 65, 1)});
  EXPECT_EQ(tokens_of(events, 63).size(), 1U);
  EXPECT_EQ(count_of<Refused>(events, 64), 1);
  EXPECT_EQ(count_of<Refused>(events, 65), 1);
}

TEST(B22_NeverFitsOnDevice, d_EightSequencesInFourBlocksRunInTurns) {
  TinyGpu gpu(4);
  Submission eight = request(1, 20, 4);
  eight.sequence_count = 8;
  EXPECT_EQ(count_of<SequenceFinished>(gpu.serve({std::move(eight)}), 1), 8);
}

// Some end by their caps and some by a token, which the loop learns when their next row is under way; some have
// penalties, which wait for the token; and all together need twice the cache.
TEST(CudaServing, GivesEachOfACrowdWhatItGetsAlone) {
  TinyGpu gpu(10);
  ASSERT_EQ(gpu.steps_ahead(), 1);
  std::vector<Submission> crowd;
  for (uint64_t id = 1; id <= 8; ++id) {
    const auto number = static_cast<int32_t>(id);
    Submission submission = request(id, 3 + 5 * number, 10 + number);
    if (id % 3 == 0) submission.sampling.repetition_penalty = 1.3F;
    crowd.push_back(std::move(submission));
  }
  std::vector<std::vector<int32_t>> alone;
  for (Submission& submission : crowd) {
    const uint64_t id = submission.id.value;
    alone.push_back(tokens_of(gpu.serve({submission}), id));
    ASSERT_EQ(alone.back().size(), static_cast<size_t>(submission.max_new_tokens));
    if (id % 2 == 1) continue;
    submission.stop_token_ids = {alone.back()[5]};
    alone.back() = tokens_of(gpu.serve({submission}), id);
    ASSERT_LE(alone.back().size(), 6U);
  }
  const Events events = gpu.serve(crowd);
  for (size_t i = 0; i < crowd.size(); ++i) EXPECT_EQ(tokens_of(events, i + 1), alone[i]) << "request " << i + 1;
}

}  // namespace
}  // namespace sluice::scheduler
