#include "bench/workload.h"

#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using Dataset = std::vector<DatasetConversation>;

/// A target that only says what it is.
class SilentTarget final : public Target {
 public:
  explicit SilentTarget(PromptForm form, std::optional<int32_t> context = 1024) : form_(form) {
    model_.name = "small";
    model_.vocab_size = 100;
    model_.context_length = context;
  }
  const ServedModel& model() const override { return model_; }
  PromptForm prompt_form() const override { return form_; }
  bool is_read_by_one_thread() const override { return true; }
  std::unique_ptr<Call> make_call(Ask, AnswerSink&) override { return nullptr; }

 private:
  PromptForm form_;
  ServedModel model_;
};

std::unique_ptr<Workload> workload(const RunConfig& load, const Target& target,
                                   std::shared_ptr<const Dataset> dataset = nullptr) {
  auto result = make_workload(load, target, std::move(dataset));
  EXPECT_TRUE(result.ok()) << result.status();
  return std::move(result).value();
}

const Ask::Tokens& ids(const Ask& ask) {
  return std::get<Ask::Tokens>(ask.prompt);
}

TEST(Workload, RefusesWhatTheContextCannotHold) {
  RunConfig load;
  load.prompt_tokens = LengthDistribution::uniform(1, 300);
  load.output_tokens = LengthDistribution::fixed(40);
  load.shared_prefix_tokens = 4;
  load.turns = 3;
  EXPECT_TRUE(make_workload(load, SilentTarget(PromptForm::kTokens), nullptr).ok());  // 4 + 3 * 340 = 1024
  load.shared_prefix_tokens = 5;
  const auto refused = make_workload(load, SilentTarget(PromptForm::kTokens), nullptr);
  EXPECT_EQ(refused.status().code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("1025"));
  EXPECT_TRUE(make_workload(load, SilentTarget(PromptForm::kText, std::nullopt), nullptr).ok());
}

TEST(Workload, LengthsAreDrawnForEachRequest) {
  RunConfig load;
  load.prompt_tokens = LengthDistribution::uniform(3, 6);
  load.output_tokens = LengthDistribution::uniform(2, 4);
  const SilentTarget target(PromptForm::kTokens);
  const auto asks = workload(load, target);
  std::set<size_t> prompts;
  std::set<int32_t> outputs;
  for (uint64_t i = 0; i < 100; ++i) {
    prompts.insert(ids(asks->first(i)).size());
    outputs.insert(asks->first(i).output_tokens);
  }
  EXPECT_EQ(prompts, (std::set<size_t>{3, 4, 5, 6}));
  EXPECT_EQ(outputs, (std::set<int32_t>{2, 3, 4}));
}

TEST(Workload, TheGivenShareOfPromptsBeginsAlike) {
  RunConfig load;
  load.prompt_tokens = LengthDistribution::fixed(4);
  load.shared_prefix_tokens = 20;
  load.shared_prefix_share = 0.5;
  const auto asks = workload(load, SilentTarget(PromptForm::kTokens));
  std::map<Ask::Tokens, int> begins;
  int alone = 0;
  for (uint64_t i = 0; i < 1000; ++i) {
    const Ask::Tokens prompt = ids(asks->first(i));
    if (prompt.size() == 4) ++alone;
    if (prompt.size() == 24) ++begins[{prompt.begin(), prompt.begin() + 20}];
  }
  EXPECT_EQ(begins.size(), 1U);
  EXPECT_EQ(alone + begins.begin()->second, 1000);
  EXPECT_NEAR(alone, 500, 80);  // five standard errors
}

TEST(Workload, ATurnHasAllBeforeItInItsPrompt) {
  RunConfig load;
  load.prompt_tokens = LengthDistribution::fixed(4);
  load.turns = 2;
  const auto asks = workload(load, SilentTarget(PromptForm::kTokens));
  const Ask first = asks->first(5);
  EXPECT_TRUE(first.keeps_ids);
  const auto second = asks->next(5, 1, first, {.text = "", .ids = {7, 8, 9}});
  ASSERT_TRUE(second.has_value());
  ASSERT_EQ(ids(*second).size(), 11U);
  EXPECT_TRUE(std::equal(ids(first).begin(), ids(first).end(), ids(*second).begin()));
  EXPECT_EQ((Ask::Tokens{ids(*second).begin() + 4, ids(*second).begin() + 7}), (Ask::Tokens{7, 8, 9}));
  EXPECT_FALSE(asks->next(5, 2, *second, {}).has_value());
}

TEST(Workload, ATraceGivesItsLengthsInItsOrder) {
  RunConfig load;
  load.trace = std::make_shared<const std::vector<simulation::TracedArrival>>(std::vector<simulation::TracedArrival>{
      {.prompt_tokens = 9, .shared_tokens = 5, .max_tokens = 9, .output_tokens = 2, .tenant = "a"},
      {.prompt_tokens = 6, .shared_tokens = 6, .max_tokens = 9, .output_tokens = 3, .tenant = ""}});
  const auto asks = workload(load, SilentTarget(PromptForm::kTokens));
  EXPECT_EQ(ids(asks->first(0)).size(), 9U);
  EXPECT_EQ(asks->first(0).output_tokens, 2);
  EXPECT_EQ(asks->first(0).tenant, "a");
  EXPECT_EQ(ids(asks->first(1)).size(), 6U);
  // Five tokens are common to both; of the second one the last is its own.
  const Ask::Tokens a = ids(asks->first(0));
  const Ask::Tokens b = ids(asks->first(1));
  EXPECT_TRUE(std::equal(a.begin(), a.begin() + 5, b.begin()));
}

std::shared_ptr<const Dataset> dataset() {
  return std::make_shared<const Dataset>(
      Dataset{{{{.prompt = "one", .answer = "eight letters!"}}},
              {{{.prompt = "two", .answer = "b"}, {.prompt = "more", .answer = "c"}}},
              {{{.prompt = std::string(5000, 'x'), .answer = "d"}}}});
}

TEST(Workload, ADatasetIsAskedInADrawnOrderWithoutWhatDoesNotFit) {
  RunConfig load;
  load.dataset_path = "f";
  const auto asks = workload(load, SilentTarget(PromptForm::kTokens), dataset());
  std::multiset<std::string> prompts;
  for (uint64_t i = 0; i < 4; ++i) prompts.insert(std::get<Ask::Text>(asks->first(i).prompt));
  EXPECT_EQ(prompts, (std::multiset<std::string>{"one", "one", "two", "two"}));
}

TEST(Workload, ADatasetsAnswersGiveTheLengthsUnlessOneIsAsked) {
  RunConfig load;
  load.dataset_path = "f";
  const SilentTarget target(PromptForm::kText, std::nullopt);
  const auto one = std::make_shared<const Dataset>(Dataset{dataset()->front()});
  EXPECT_EQ(workload(load, target, one)->first(0).output_tokens, 4);
  load.output_tokens = LengthDistribution::fixed(9);
  EXPECT_EQ(workload(load, target, one)->first(0).output_tokens, 9);
}

TEST(Workload, ADatasetsConversationGoesOnWithTheServersAnswers) {
  RunConfig load;
  load.dataset_path = "f";
  load.turns = 5;
  const auto two = std::make_shared<const Dataset>(Dataset{(*dataset())[1]});
  const auto asks = workload(load, SilentTarget(PromptForm::kChat), two);
  const auto second = asks->next(0, 1, asks->first(0), {.text = "served", .ids = {}});
  ASSERT_TRUE(second.has_value());
  const auto& chat = std::get<Ask::Chat>(second->prompt);
  EXPECT_EQ(chat, (Ask::Chat{{"user", "two"}, {"assistant", "served"}, {"user", "more"}}));
  EXPECT_FALSE(asks->next(0, 2, *second, {}).has_value());
}

TEST(Workload, ADatasetOfWhichNothingFitsIsRefused) {
  RunConfig load;
  load.dataset_path = "f";
  const auto refused = make_workload(load, SilentTarget(PromptForm::kText, 1), dataset());
  EXPECT_THAT(refused.status().message(), testing::HasSubstr("no conversation of f fits the context of 1 tokens"));
}

}  // namespace
}  // namespace sluice::bench
