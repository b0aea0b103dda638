#include "kvcache/eviction_list.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::kvcache {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<int32_t> drained(EvictionList list) {
  std::vector<int32_t> blocks;
  while (!list.empty()) {
    blocks.push_back(list.front());
    list.remove(list.front());
  }
  return blocks;
}

EvictionList list_of(const std::vector<int32_t>& blocks) {
  EvictionList list(8);
  for (const int32_t block : blocks) list.push_back(block);
  return list;
}

TEST(EvictionListDeathTest, RefusesABlockTwice) {
  EvictionList list = list_of({3});
  EXPECT_DEATH(list.push_back(3), "kOutside");
}

TEST(EvictionListDeathTest, RefusesToRemoveWhatIsNotInIt) {
  EvictionList list = list_of({3});
  EXPECT_DEATH(list.remove(4), "kOutside");
  list.remove(3);
  EXPECT_DEATH(list.remove(3), "kOutside");
}

TEST(EvictionListDeathTest, HasNoFrontWhenEmpty) {
  EXPECT_DEATH(EvictionList(1).front(), "!empty\\(\\)");
}

TEST(EvictionList, StartsEmpty) {
  EXPECT_TRUE(EvictionList(1).empty());
  EXPECT_THAT(drained(EvictionList(1)), IsEmpty());
}

TEST(EvictionList, KeepsTheOrderOfArrival) {
  EXPECT_EQ(list_of({7, 0, 3}).size(), 3);
  EXPECT_THAT(drained(list_of({7, 0, 3})), ElementsAre(7, 0, 3));
}

TEST(EvictionList, RemovesFromEitherEndAndTheMiddle) {
  for (const auto& [block, left] :
       std::vector<std::pair<int32_t, std::vector<int32_t>>>{{7, {0, 3}}, {0, {7, 3}}, {3, {7, 0}}}) {
    EvictionList list = list_of({7, 0, 3});
    list.remove(block);
    EXPECT_EQ(drained(list), left);
  }
}

TEST(EvictionList, PutsAReturningBlockLast) {
  EvictionList list = list_of({7, 0, 3});
  list.remove(7);
  list.push_back(7);
  EXPECT_THAT(drained(list), ElementsAre(0, 3, 7));
}

TEST(EvictionList, HoldsEveryBlock) {
  EXPECT_THAT(drained(list_of({0, 1, 2, 3, 4, 5, 6, 7})).size(), 8U);
}

}  // namespace
}  // namespace sluice::kvcache
