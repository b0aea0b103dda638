#include "scheduler/mailbox.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "tests/scheduler/serving_fixture.h"

namespace sluice::scheduler {
namespace {

TEST(Mailbox, RefusesSubmissionsBeyondTheRoom) {
  Mailbox mailbox(2);
  EXPECT_TRUE(mailbox.try_post(make_submission(1, 1, 1)));
  EXPECT_TRUE(mailbox.try_post(make_submission(2, 1, 1)));
  EXPECT_FALSE(mailbox.try_post(make_submission(3, 1, 1)));
}

TEST(Mailbox, RefusesEverySubmissionWithoutRoom) {
  Mailbox mailbox(0);
  EXPECT_FALSE(mailbox.try_post(make_submission(1, 1, 1)));
  mailbox.publish_room(-3);
  EXPECT_FALSE(mailbox.try_post(make_submission(1, 1, 1)));
}

TEST(Mailbox, TakesCancelAndFailAllWithoutRoomAndAfterClose) {
  Mailbox mailbox(0);
  mailbox.close();
  mailbox.post(Cancel{.request = {1}, .sequence = std::nullopt});
  mailbox.post(FailAll{unavailable("over")});
  EXPECT_TRUE(mailbox.wait());
  std::vector<Command> commands;
  mailbox.take(commands);
  ASSERT_EQ(commands.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<Cancel>(commands[0]));
  EXPECT_TRUE(std::holds_alternative<FailAll>(commands[1]));
  EXPECT_FALSE(mailbox.wait());
}

TEST(Mailbox, RefusesSubmissionsOnceClosed) {
  Mailbox mailbox(2);
  EXPECT_FALSE(mailbox.closed());
  mailbox.close();
  EXPECT_TRUE(mailbox.closed());
  EXPECT_FALSE(mailbox.try_post(make_submission(1, 1, 1)));
}

TEST(Mailbox, TakesABoundedNumberOfQuestionsBetweenTwoTicks) {
  Mailbox mailbox(0);
  const Explain question{make_submission(1, 1, 1)};
  for (int i = 0; i < Mailbox::kQuestionsMax; ++i) EXPECT_TRUE(mailbox.try_post(question));
  EXPECT_FALSE(mailbox.try_post(question));
  std::vector<Command> commands;
  mailbox.take(commands);
  EXPECT_EQ(commands.size(), size_t{Mailbox::kQuestionsMax});
  EXPECT_TRUE(mailbox.try_post(question));
}

TEST(Mailbox, RefusesQuestionsOnceClosedAsNobodyMayAnswerThem) {
  Mailbox mailbox(0);
  mailbox.close();
  EXPECT_FALSE(mailbox.try_post(Explain{make_submission(1, 1, 1)}));
  EXPECT_FALSE(mailbox.wait());
}

TEST(Mailbox, GivesOutCommandsOnceInTheOrderOfPosting) {
  Mailbox mailbox(5);
  ASSERT_TRUE(mailbox.try_post(make_submission(1, 1, 1)));
  mailbox.post(Cancel{.request = {1}, .sequence = 0});
  ASSERT_TRUE(mailbox.try_post(make_submission(2, 1, 1)));
  std::vector<Command> commands = {Cancel{}};
  mailbox.take(commands);
  ASSERT_EQ(commands.size(), 3U);
  EXPECT_EQ(std::get<Submission>(commands[0]).id.value, 1U);
  EXPECT_EQ(std::get<Cancel>(commands[1]).request.value, 1U);
  EXPECT_EQ(std::get<Submission>(commands[2]).id.value, 2U);
  mailbox.take(commands);
  EXPECT_TRUE(commands.empty());
}

TEST(Mailbox, KeepsCountingWhatWasTakenUntilTheLoopPublishes) {
  Mailbox mailbox(2);
  ASSERT_TRUE(mailbox.try_post(make_submission(1, 1, 1)));
  std::vector<Command> commands;
  mailbox.take(commands);
  EXPECT_TRUE(mailbox.try_post(make_submission(2, 1, 1)));
  EXPECT_FALSE(mailbox.try_post(make_submission(3, 1, 1)));
}

TEST(Mailbox, CountsWhatWasPostedSinceAgainstPublishedRoom) {
  Mailbox mailbox(2);
  std::vector<Command> commands;
  mailbox.take(commands);
  ASSERT_TRUE(mailbox.try_post(make_submission(1, 1, 1)));
  mailbox.publish_room(2);
  EXPECT_TRUE(mailbox.try_post(make_submission(2, 1, 1)));
  EXPECT_FALSE(mailbox.try_post(make_submission(3, 1, 1)));
}

TEST(Mailbox, WaitsForACommandOfAnotherThread) {
  Mailbox mailbox(1);
  std::thread poster([&] { mailbox.post(Cancel{.request = {7}, .sequence = std::nullopt}); });
  EXPECT_TRUE(mailbox.wait());
  poster.join();
  std::vector<Command> commands;
  mailbox.take(commands);
  EXPECT_EQ(commands.size(), 1U);
}

TEST(Mailbox, WakesTheWaitingLoopWhenClosed) {
  Mailbox mailbox(1);
  std::thread closer([&] { mailbox.close(); });
  EXPECT_FALSE(mailbox.wait());
  closer.join();
}

TEST(Mailbox, LosesAndInventsNothingBetweenThreads) {
  constexpr int kFronts = 4;
  constexpr uint64_t kEach = 500;
  Mailbox mailbox(1);
  std::atomic<uint64_t> accepted{0};
  std::vector<std::thread> fronts;
  fronts.reserve(kFronts);
  for (int front = 0; front < kFronts; ++front) {
    fronts.emplace_back([&, front] {
      const uint64_t first = static_cast<uint64_t>(front) * kEach;
      for (uint64_t id = first; id < first + kEach; ++id) {
        if (mailbox.try_post(make_submission(id, 1, 1))) ++accepted;
        mailbox.post(Cancel{.request = {id}, .sequence = std::nullopt});
      }
    });
  }
  std::thread closer([&] {
    for (std::thread& front : fronts) front.join();
    mailbox.close();
  });
  uint64_t submissions = 0;
  uint64_t cancels = 0;
  std::vector<Command> commands;
  while (mailbox.wait()) {
    mailbox.take(commands);
    uint64_t taken = 0;
    for (const Command& command : commands) taken += std::holds_alternative<Submission>(command) ? 1U : 0U;
    EXPECT_LE(taken, 3U) << "never more than the room that was published";
    submissions += taken;
    cancels += commands.size() - taken;
    mailbox.publish_room(3);
  }
  closer.join();
  EXPECT_EQ(submissions, accepted);
  EXPECT_EQ(cancels, kFronts * kEach);
}

}  // namespace
}  // namespace sluice::scheduler
