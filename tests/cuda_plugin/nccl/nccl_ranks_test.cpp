#include "engine/cuda/toolkit/nccl_ranks.h"

#include <memory>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/rank_threads.h"
#include "tests/cuda_plugin/nccl/library/imagined_nccl.h"

// Ranks that are connected by a library which behaves as NCCL does and computes nothing.

namespace sluice::engine::cuda {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

class NcclRanksTest : public ::testing::Test {
 protected:
  void SetUp() override {
    nccl_ = Nccl::open(SLUICE_IMAGINED_NCCL).value();
    void* const library = dlopen(SLUICE_IMAGINED_NCCL, RTLD_NOW | RTLD_LOCAL);
    library_ = reinterpret_cast<ImaginedNcclEntry*>(dlsym(library, kImaginedNcclEntry))();
  }

  Result<std::unique_ptr<NcclRanks>> connect(int32_t count) {
    return NcclRanks::connect(nccl_, count, [this](int32_t rank) {
      made_current_.push_back(rank);
      return Status();
    });
  }

  void fail(const std::string& call, int32_t rank) {
    library_->failing_call = call;
    library_->failing_rank = rank;
  }

  Nccl nccl_;
  ImaginedNccl* library_ = nullptr;
  std::vector<int32_t> made_current_;
  float value_ = 0;
};

const Status kSystemError = internal_error("connecting GPUs: imagined system error (NCCL result 2)");

TEST_F(NcclRanksTest, ConnectEachOnItsDeviceAndEndTogether) {
  {
    const auto ranks = connect(3);
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    EXPECT_EQ((*ranks)->rank_count(), 3);
    EXPECT_THAT(made_current_, ElementsAre(0, 1, 2));
    EXPECT_FALSE(library_->is_blocking);
    EXPECT_TRUE((*ranks)->status().ok());
  }
  EXPECT_THAT(library_->endings, UnorderedElementsAre("destroy 0", "destroy 1", "destroy 2"));
}

TEST_F(NcclRanksTest, AddUpOnceAllAreThere) {
  const auto ranks = connect(3);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  RankThreads threads(3);
  threads.run([&](int32_t rank) {
    for (int i = 0; i < 100; ++i) EXPECT_TRUE((*ranks)->all_reduce(rank, &value_, 1, nullptr).ok());
  });
  EXPECT_THAT(library_->sums, ElementsAre(100, 100, 100));
}

TEST_F(NcclRanksTest, LeaveNoneWaitingWhenOneLeaves) {
  const auto ranks = connect(3);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  RankThreads threads(3);
  threads.run([&](int32_t rank) {
    if (rank == 1) return (*ranks)->leave(rank);
    EXPECT_EQ((*ranks)->all_reduce(rank, &value_, 1, nullptr), unavailable("another rank of the model has failed"));
  });
  EXPECT_EQ((*ranks)->status().code(), StatusCode::kUnavailable);
  for (int32_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ((*ranks)->all_reduce(rank, &value_, 1, nullptr).code(), StatusCode::kUnavailable);
  }
}

TEST_F(NcclRanksTest, AbortOnceHoweverManyLeaveAndDestroyNothingThen) {
  {
    const auto ranks = connect(2);
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    RankThreads threads(2);
    for (int turn = 0; turn < 2; ++turn) threads.run([&](int32_t rank) { (*ranks)->leave(rank); });
  }
  EXPECT_THAT(library_->endings, UnorderedElementsAre("abort 0", "abort 1"));
}

TEST_F(NcclRanksTest, LeaveBeforeTheGraphsOfTheirSumsAreGone) {
  {
    const auto ranks = connect(2);
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    library_->recorded_sums = 5;
    (*ranks)->leave(0);  // returns
    library_->wait_for_endings(2);
    EXPECT_EQ((*ranks)->all_reduce(1, &value_, 1, nullptr).code(), StatusCode::kUnavailable);
    library_->destroy_graphs();
  }
  EXPECT_EQ(library_->ended_count, 2);
}

TEST_F(NcclRanksTest, TellWhatFailsWhileTheyConnect) {
  library_->id_result = ncclSystemError;
  EXPECT_EQ(connect(2).status(), kSystemError);
  EXPECT_TRUE(library_->endings.empty());
}

TEST_F(NcclRanksTest, EndThoseThatConnectedWhenOneCant) {
  fail("init", 2);
  EXPECT_EQ(connect(3).status(), kSystemError);
  EXPECT_THAT(library_->endings, UnorderedElementsAre("abort 0", "abort 1"));
  EXPECT_EQ(library_->group_depth, 0);
}

TEST_F(NcclRanksTest, EndAllWhenOneFailsLater) {
  fail("state", 1);
  EXPECT_EQ(connect(2).status(), kSystemError);
  EXPECT_THAT(library_->endings, UnorderedElementsAre("abort 0", "abort 1"));
}

TEST_F(NcclRanksTest, TellOfADeviceThatCantBeMadeCurrent) {
  const auto ranks = NcclRanks::connect(
      nccl_, 2, [](int32_t rank) { return rank == 1 ? internal_error("no such device") : Status(); });
  EXPECT_EQ(ranks.status(), internal_error("no such device"));
  EXPECT_EQ(library_->group_depth, 0);
}

TEST_F(NcclRanksTest, TellASumThatFails) {
  const auto ranks = connect(2);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  fail("all_reduce", 1);
  EXPECT_EQ((*ranks)->all_reduce(1, &value_, 1, nullptr).code(), StatusCode::kInternal);
  fail("state", 0);
  EXPECT_EQ((*ranks)->all_reduce(0, &value_, 1, nullptr).code(), StatusCode::kInternal);
}

}  // namespace
}  // namespace sluice::engine::cuda
