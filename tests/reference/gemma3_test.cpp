#include <memory>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/cpu/cpu_isa.h"
#include "tests/engine/sequence_runner.h"
#include "tests/reference/real_model.h"

// A real model of another family than the default one: windows, norms of heads, K-quants.

namespace sluice::engine {
namespace {

class Gemma3Model : public ::testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    auto executor = make_executor(model_path("gemma-3-270m-q4_k_m.gguf"), shape_);
    ASSERT_TRUE(executor.ok()) << executor.status() << "; scripts/fetch_model.sh gemma3 fetches it";
    executor_ = std::move(executor).value();
  }

  ExecutorShape shape_{.isa = std::string(cpu_isa_name(GetParam()))};
  std::unique_ptr<ModelExecutor> executor_;
  const nlohmann::json reference_ = reference_of("gemma3");
};

TEST_P(Gemma3Model, ScoresThePassageLikeTheReference) {
  const PassageFit fit = fit_passage(*executor_, shape_, reference_.at("passage"));
  EXPECT_LE(fit.mean_logprob_difference, 0.06);
  EXPECT_NEAR(fit.perplexity_ratio, 1.0, 0.015);
  EXPECT_GE(fit.agreed, 0.98 * fit.clear);
  RecordProperty("mean_logprob_difference", std::to_string(fit.mean_logprob_difference));
  RecordProperty("perplexity_ratio", std::to_string(fit.perplexity_ratio));
}

TEST_P(Gemma3Model, GreedyTokensFollowTheReferenceWhereTheyAreClear) {
  const nlohmann::json cases = reference_.at("cases");
  ASSERT_EQ(cases.size(), 6U);
  expect_greedy_tokens(*executor_, shape_, cases, 0.6);
}

INSTANTIATE_TEST_SUITE_P(Isa, Gemma3Model, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine
