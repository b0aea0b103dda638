#include "engine/cpu/thread_communicators.h"

#include <cmath>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "engine/cpu/cpu_backend.h"
#include "engine/rank_threads.h"
#include "engine/tensor_cut.h"
#include "tests/engine/backend_ops.h"

namespace sluice::engine {
namespace {

TEST(ThreadCommunicators, AddUpInTheOrderOfTheRanks) {
  // In another order these would give another float.
  const std::vector<std::vector<float>> parts = {{1e8F, 1, 0.1F}, {1, 1e8F, 0.2F}, {-1e8F, -1e8F, 0.3F}};
  ThreadCommunicators group(3);
  RankThreads threads(3);
  std::vector<std::vector<float>> values = parts;
  threads.run([&](int32_t rank) { EXPECT_TRUE(group.of(rank).all_reduce(values[static_cast<size_t>(rank)]).ok()); });
  for (const std::vector<float>& sum : values) {
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(sum[i], parts[0][i] + parts[1][i] + parts[2][i]) << i;
  }
}

TEST(ThreadCommunicators, AddUpAnyNumberOfValuesManyTimes) {
  for (const int32_t ranks : {1, 2, 3, 5}) {
    ThreadCommunicators group(ranks);
    RankThreads threads(ranks);
    threads.run([&](int32_t rank) {
      EXPECT_EQ(group.of(rank).rank().index, rank);
      EXPECT_EQ(group.of(rank).rank().count, ranks);
      for (int32_t turn = 0; turn < 500; ++turn) {
        std::vector<float> values(static_cast<size_t>(turn % 7), static_cast<float>(turn * ranks + rank));
        ASSERT_TRUE(group.of(rank).all_reduce(values).ok());
        const int32_t sum = turn * ranks * ranks + ranks * (ranks - 1) / 2;
        for (const float value : values) ASSERT_EQ(value, static_cast<float>(sum));
      }
    });
  }
}

TEST(ThreadCommunicators, FailForAllWhoWaitForOneThatHasLeft) {
  for (int32_t leaver = 0; leaver < 3; ++leaver) {
    ThreadCommunicators group(3);
    RankThreads threads(3);
    threads.run([&](int32_t rank) {
      std::vector<float> values(100, 1);
      for (int32_t turn = 0; turn < 10; ++turn) ASSERT_TRUE(group.of(rank).all_reduce(values).ok());
      if (rank == leaver) return group.of(rank).leave();
      EXPECT_EQ(group.of(rank).all_reduce(values).code(), StatusCode::kUnavailable);
    });
    std::vector<float> values(100);
    for (int32_t rank = 0; rank < 3; ++rank) EXPECT_FALSE(group.of(rank).all_reduce(values).ok());
  }
}

TEST(RankThreads, DoAllRanksWorkAtTheSameTimeEveryTime) {
  RankThreads threads(4);
  ThreadCommunicators group(4);
  EXPECT_EQ(threads.rank_count(), 4);
  const std::thread::id caller = std::this_thread::get_id();
  std::vector<std::thread::id> first(4);
  for (int32_t turn = 0; turn < 50; ++turn) {
    std::vector<int32_t> calls(4);
    threads.run([&](int32_t rank) {
      const auto index = static_cast<size_t>(rank);
      std::vector<float> one = {1};
      EXPECT_TRUE(group.of(rank).all_reduce(one).ok());  // returns when all are here
      ++calls[index];
      if (turn == 0) first[index] = std::this_thread::get_id();
      EXPECT_EQ(first[index], std::this_thread::get_id());
    });
    EXPECT_EQ(calls, std::vector<int32_t>({1, 1, 1, 1}));
  }
  EXPECT_EQ(first[0], caller);
}

/// A matrix product's two halves on two backends.
class SharedProducts : public ::testing::TestWithParam<TensorType> {
 protected:
  static constexpr int32_t kLength = 512;
  static constexpr int32_t kRows = 48;
  static constexpr int32_t kTokens = 5;

  /// The residual after residual += matrix * in, or its norm, on a rank with its columns.
  std::vector<float> residual_of(Communicator* communicator, const Rank& rank, bool normalizes) {
    auto backend = make_cpu_backend({.threads = 2, .isa = "auto", .clock = nullptr, .communicator = communicator});
    const int32_t columns = kLength / rank.count;
    const TensorCut cut(weights_->tensor, 0, rank);
    const StoredTensor part = cut.view();
    const MatrixId matrix = (*backend)->add_matrix({{rank.count == 1 ? &weights_->tensor : &part}}).value();
    const ActivationId in = (*backend)->add_activation(kTokens, columns).value();
    const ActivationId residual = (*backend)->add_activation(kTokens, kRows).value();
    const ActivationId product = (*backend)->add_activation(kTokens, kRows).value();
    const RmsNorm norm{(*backend)->add_vector(std::vector<float>(kRows, 0.5F)).value(), 1e-5F};
    std::vector<float> own;
    for (int32_t token = 0; token < kTokens; ++token) {
      const auto begin = in_.begin() + token * kLength + rank.index * columns;
      own.insert(own.end(), begin, begin + columns);
    }
    (*backend)->write(in, own);
    (*backend)->write(residual, residual_);
    const Batch batch = plain_batch(kTokens);
    (*backend)->begin_step(batch);
    if (normalizes) (*backend)->matmul_norm_add(residual, in, matrix, norm, product);
    if (!normalizes) (*backend)->matmul_add(residual, in, matrix);
    std::vector<float> values(residual_.size());
    (*backend)->read(residual, values);
    return values;
  }

  Random random_{7};
  std::unique_ptr<TestTensor> weights_ = make_tensor(GetParam(), {kLength, kRows}, random_);
  std::vector<float> in_ = random_.floats(int64_t{kTokens} * kLength);
  std::vector<float> residual_ = random_.floats(int64_t{kTokens} * kRows);
};

TEST_P(SharedProducts, AreWhatOneRankMakesOfAllColumns) {
  for (const bool normalizes : {false, true}) {
    SCOPED_TRACE(normalizes);
    const std::vector<float> expected = residual_of(nullptr, {}, normalizes);
    ThreadCommunicators group(2);
    RankThreads threads(2);
    std::vector<std::vector<float>> got(2);
    threads.run([&](int32_t rank) {
      got[static_cast<size_t>(rank)] = residual_of(&group.of(rank), group.of(rank).rank(), normalizes);
    });
    EXPECT_EQ(got[0], got[1]);
    float largest = 0;
    for (const float value : expected) largest = std::max(largest, std::abs(value));
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(got[0][i], expected[i], 1e-5F * largest) << i;
    EXPECT_NE(got[0], residual_);
  }
}

INSTANTIATE_TEST_SUITE_P(Types, SharedProducts,
                         ::testing::Values(TensorType::kF32, TensorType::kBf16, TensorType::kQ4_0, TensorType::kQ4_K),
                         [](const auto& test) { return tensor_type_name(test.param); });

TEST(CpuBackendRanks, FailTheStepWhenAnotherRankHasLeft) {
  ThreadCommunicators group(2);
  group.of(1).leave();
  Random random(1);
  const auto weights = make_tensor(TensorType::kF32, {64, 64}, random);
  auto backend =
      make_cpu_backend({.threads = 2, .isa = "auto", .clock = nullptr, .communicator = &group.of(0)}).value();
  const MatrixId matrix = backend->add_matrix({{&weights->tensor}}).value();
  const ActivationId activation = backend->add_activation(4, 64).value();
  const ActivationId residual = backend->add_activation(4, 64).value();
  const RmsNorm norm{backend->add_vector(std::vector<float>(64, 1)).value(), 1e-5F};
  const Batch batch = plain_batch(4);
  backend->begin_step(batch);
  EXPECT_TRUE(backend->sample(activation, norm, matrix).ok());
  EXPECT_TRUE(backend->collect().ok());
  backend->begin_step(batch);
  backend->matmul_add(residual, activation, matrix);
  EXPECT_EQ(backend->sample(activation, norm, matrix).code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace sluice::engine
