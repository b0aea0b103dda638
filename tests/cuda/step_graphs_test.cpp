#include "engine/cuda/step_graphs.h"

#include <gtest/gtest.h>

namespace sluice::engine::cuda {
namespace {

class KeptGraph final : public DeviceGraph {};

StepShape decode(int32_t rows, int32_t context) {
  return {.tokens = rows, .rows = rows, .decode_rows = rows, .decode_context = context};
}

StepGraphs recorded(int32_t tokens_max, int32_t context_max) {
  StepGraphs graphs;
  graphs.plan(tokens_max, context_max);
  for (size_t i = 0; i < graphs.shapes().size(); ++i) graphs.keep(i, std::make_unique<KeptGraph>());
  return graphs;
}

TEST(StepGraphs, TakesTheSmallestThatHoldsTheStep) {
  const StepGraphs graphs = recorded(512, 100'000);
  EXPECT_EQ(graphs.find(decode(1, 10)).rows, 1);
  EXPECT_EQ(graphs.find(decode(3, 10)).rows, 4);
  EXPECT_EQ(graphs.find(decode(9, 10)).rows, 16);
  EXPECT_EQ(graphs.find(decode(256, 100'000)).rows, 256);
  EXPECT_EQ(graphs.find(decode(257, 10)).graph, nullptr);
}

TEST(StepGraphs, TellsContextsApart) {
  const StepGraphs graphs = recorded(8, 100'000);
  const DeviceGraph* shortest = graphs.find(decode(2, 256)).graph;
  EXPECT_EQ(graphs.find(decode(2, 1)).graph, shortest);
  const DeviceGraph* longer = graphs.find(decode(2, 257)).graph;
  EXPECT_NE(longer, shortest);
  EXPECT_EQ(graphs.find(decode(2, 512)).graph, longer);
  EXPECT_NE(graphs.find(decode(2, 513)).graph, longer);
  EXPECT_NE(graphs.find(decode(2, 100'000)).graph, nullptr);
  EXPECT_EQ(graphs.find(decode(2, 100'001)).graph, nullptr);
}

TEST(StepGraphs, LeavesPromptsToOperations) {
  const StepGraphs graphs = recorded(64, 1000);
  StepShape with_prompt = decode(2, 10);
  with_prompt.rows = 3;
  with_prompt.tokens = 20;
  EXPECT_EQ(graphs.find(with_prompt).graph, nullptr);
  EXPECT_NE(graphs.find(decode(2, 10)).graph, nullptr);
}

TEST(StepGraphs, PlansAsManyRowsAsAStepHas) {
  for (const int32_t tokens_max : {1, 5, 64, 300}) {
    const StepGraphs graphs = recorded(tokens_max, 300);
    int32_t most = 0;
    for (const StepShape& shape : graphs.shapes()) most = std::max(most, shape.rows);
    EXPECT_EQ(most, std::min(tokens_max, StepGraphs::kRowsMax));
    EXPECT_EQ(graphs.find(decode(most, 300)).rows, most);
  }
}

TEST(StepGraphs, FindsOnlyWhatIsRecorded) {
  StepGraphs graphs;
  graphs.plan(4, 100);
  EXPECT_EQ(graphs.find(decode(1, 1)).graph, nullptr);
  graphs.keep(graphs.shapes().size() - 1, std::make_unique<KeptGraph>());
  EXPECT_EQ(graphs.find(decode(1, 1)).rows, 4);
}

}  // namespace
}  // namespace sluice::engine::cuda
