#include "engine/logit_kernels.h"

#include "tests/engine/logit_kernels_contract.h"

namespace sluice::engine {
namespace {

TEST(PortableLogitKernels, GiveZeroWhereThereIsNoWeight) {
  expect_weigh_gives_zero_where_there_is_no_weight(portable_logit_kernels());
}

TEST(PortableLogitKernels, WeighAnyCount) {
  expect_weigh_keeps_its_contract(portable_logit_kernels());
}

TEST(PortableLogitKernels, CollectWhatIsAtLeastTheFloor) {
  expect_collect_keeps_its_contract(portable_logit_kernels());
}

}  // namespace
}  // namespace sluice::engine
