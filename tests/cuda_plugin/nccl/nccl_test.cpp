#include "engine/cuda/toolkit/nccl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/plugin.h"

namespace sluice::engine::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kRefusal[] = "several GPUs need NCCL to share a model, one works without: ";

TEST(Nccl, IsMissedByTheNameOfItsFile) {
  const Result<Nccl> opened = Nccl::open("/nowhere/libnccl.so.2");
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), AllOf(StartsWith(kRefusal), HasSubstr("/nowhere/libnccl.so.2: cannot open")));
}

TEST(Nccl, IsMissedByTheNameOfAFunctionThatItLacks) {
  const Result<Nccl> opened = Nccl::open(SLUICE_LACKING_NCCL);
  EXPECT_EQ(opened.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(opened.status().message(), AllOf(StartsWith(kRefusal), HasSubstr("ncclGetUniqueId")));
}

TEST(Nccl, TellsFailuresInItsOwnWords) {
  const Result<Nccl> nccl = Nccl::open(SLUICE_IMAGINED_NCCL);
  ASSERT_TRUE(nccl.ok()) << nccl.status();
  EXPECT_TRUE(nccl->status(ncclSuccess, "adding up").ok());
  EXPECT_TRUE(nccl->status(ncclInProgress, "adding up").ok());
  EXPECT_EQ(nccl->status(ncclSystemError, "adding up"),
            internal_error("adding up: imagined system error (NCCL result 2)"));
}

TEST(Nccl, HasAllFunctionsAsNvidiaShipsIt) {
  const Result<Nccl> nccl = Nccl::open(kNcclFile);
  if (!nccl.ok()) GTEST_SKIP() << nccl.status();
  EXPECT_THAT(nccl->status(ncclInvalidArgument, "adding up").message(), StartsWith("adding up: invalid argument"));
}

}  // namespace
}  // namespace sluice::engine::cuda
