#include "scheduler/request_queue.h"

#include <deque>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class Queue : public ::testing::Test {
 protected:
  struct Wish {
    const char* tenant = "";
    int32_t priority = 0;
    TimePoint deadline = TimePoint::max();
    size_t prompt = 10;
  };

  /// Ids are the order of arrival, from 0.
  Request& push(const Wish& wish) {
    Submission submission;
    submission.id = {requests_.size()};
    submission.prompt.resize(wish.prompt);
    submission.tenant = wish.tenant;
    submission.priority = wish.priority;
    submission.deadline = wish.deadline;
    submission.max_new_tokens = 1;
    const int32_t tenant = tenants_.enter(wish.tenant);
    Request& request = requests_.emplace_back(std::move(submission), requests_.size(), tenant);
    queue_.push(request);
    return request;
  }
  std::vector<uint64_t> order(size_t limit = 100, int32_t running_max = 0) {
    std::vector<Request*> collected;
    queue_.collect(limit, running_max, collected);
    std::vector<uint64_t> ids;
    for (const Request* request : collected) ids.push_back(request->id().value);
    return ids;
  }

  TenantBook tenants_;
  RequestQueue queue_{tenants_};
  std::deque<Request> requests_;
};

TEST_F(Queue, IsInOrderOfArrival) {
  for (int i = 0; i < 4; ++i) push({});
  EXPECT_THAT(order(), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(order(2), ElementsAre(0, 1));
  EXPECT_THAT(order(0), IsEmpty());
}

TEST_F(Queue, PutsLowerPriorityNumbersFirst) {
  push({.priority = 2});
  push({.priority = -1});
  push({.priority = 2});
  push({});
  EXPECT_THAT(order(), ElementsAre(1, 3, 0, 2));
}

TEST_F(Queue, PutsATenantsEarliestDeadlineFirst) {
  push({});
  push({.deadline = TimePoint(milliseconds(9))});
  push({.deadline = TimePoint(milliseconds(5))});
  push({.deadline = TimePoint(milliseconds(9))});
  EXPECT_THAT(order(), ElementsAre(2, 1, 3, 0));
}

TEST_F(Queue, TakesTurnsAmongTenantsWhateverTheirDeadlines) {
  push({.tenant = "a", .deadline = TimePoint(milliseconds(1))});
  push({.tenant = "a", .deadline = TimePoint(milliseconds(2))});
  push({.tenant = "b"});
  push({.tenant = "b"});
  EXPECT_THAT(order(), ElementsAre(0, 2, 1, 3));
}

TEST_F(Queue, PutsWhoHasLessThanHisShareOfRowsFirstAmongEquals) {
  tenants_.set_rows(8);
  push({.tenant = "loud"});
  push({.tenant = "quiet"});
  EXPECT_THAT(order(), ElementsAre(0, 1));
  tenants_.note_running(requests_[0].tenant(), 4);
  EXPECT_THAT(order(), ElementsAre(1, 0));
  EXPECT_EQ(queue_.first()->id().value, 1);
}

TEST_F(Queue, PutsTheTenantFirstWhoWasServedLeast) {
  push({.tenant = "a"});
  push({.tenant = "a"});
  push({.tenant = "b"});
  tenants_.charge_output(requests_[0].tenant(), 50);
  EXPECT_THAT(order(), ElementsAre(2, 0, 1));
}

TEST_F(Queue, CountsThePromptsItHasPutInFront) {
  push({.tenant = "a", .prompt = 100});
  push({.tenant = "a", .prompt = 100});
  push({.tenant = "b", .prompt = 30});
  push({.tenant = "b", .prompt = 30});
  push({.tenant = "b", .prompt = 50});
  push({.tenant = "b", .prompt = 10});
  EXPECT_THAT(order(), ElementsAre(0, 2, 3, 4, 1, 5)) << "after 30, 60 and 110 tokens of b it is a's turn";
}

TEST_F(Queue, PutsATenantsBegunOnesBeforeHisOthers) {
  push({.tenant = "a", .deadline = TimePoint(milliseconds(1))});
  Request& begun = push({.tenant = "a"});
  queue_.begin(begun);
  EXPECT_THAT(order(), ElementsAre(1, 0));
  EXPECT_EQ(queue_.unstarted_count(), 1);
  queue_.remove(begun);
  EXPECT_THAT(order(), ElementsAre(0));
}

TEST_F(Queue, PutsNobodyBeforeOtherTenantsOrPrioritiesForHavingBegun) {
  push({.tenant = "a"});
  push({.tenant = "b", .priority = 1});
  Request& begun = push({.tenant = "b"});
  Request& less = push({.tenant = "b", .priority = 5});
  tenants_.charge_output(begun.tenant(), 1000);
  queue_.begin(begun);
  queue_.begin(less);
  EXPECT_THAT(order(), ElementsAre(0, 2, 1, 3));
  EXPECT_TRUE(queue_.has_before(0));
  EXPECT_FALSE(queue_.has_before(-1));
}

TEST_F(Queue, LeavesOutTenantsWhoRunAsMuchAsTheyMay) {
  Request& begun = push({.tenant = "a"});
  queue_.begin(begun);
  push({.tenant = "a"});
  push({.tenant = "b"});
  tenants_.charge_output(requests_.back().tenant(), 1000);
  tenants_.note_running(begun.tenant(), 2);
  EXPECT_THAT(order(1, 3), ElementsAre(0));
  EXPECT_THAT(order(1, 2), ElementsAre(2)) << "however far behind the other tenant is";
  EXPECT_EQ(begun.shortage(), Shortage::kTenant);
}

TEST_F(Queue, CountsWhatHasNotBegun) {
  Request& first = push({.tenant = "a", .prompt = 7});
  push({.tenant = "a", .priority = 1, .prompt = 5});
  push({.tenant = "b", .priority = 2, .prompt = 3});
  EXPECT_EQ(queue_.unstarted_count(), 3);
  EXPECT_EQ(queue_.unstarted_prompt_tokens(), 15);
  EXPECT_EQ(queue_.unstarted(first.tenant()).tenants_requests, 2);
  EXPECT_EQ(queue_.unstarted_before(-1), 0);
  EXPECT_EQ(queue_.unstarted_before(0), 1);
  EXPECT_EQ(queue_.unstarted_before(1), 2);
  EXPECT_EQ(queue_.unstarted_before(9), 3);
  queue_.begin(first);
  EXPECT_EQ(queue_.unstarted_count(), 2);
  EXPECT_EQ(queue_.unstarted_prompt_tokens(), 8);
  EXPECT_EQ(queue_.unstarted(first.tenant()).tenants_requests, 1);
  EXPECT_EQ(queue_.unstarted_before(0), 0);
  EXPECT_FALSE(queue_.empty());
}

TEST_F(Queue, ForgetsWhoIsRemovedAndIgnoresWhoIsNotHere) {
  Request& only = push({});
  queue_.remove(only);
  queue_.remove(only);
  EXPECT_TRUE(queue_.empty());
  EXPECT_EQ(queue_.unstarted_count(), 0);
  EXPECT_EQ(queue_.unstarted_prompt_tokens(), 0);
  EXPECT_EQ(queue_.unstarted(only.tenant()).tenants_requests, 0);
  EXPECT_THAT(order(), IsEmpty());
}

}  // namespace
}  // namespace sluice::scheduler
