#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/checkpoint.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "engine/gguf.h"
#include "engine/parallel_model.h"
#include "tests/engine/gguf_builder.h"
#include "tests/engine/sequence_runner.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<int32_t> prompt_bytes() {
  const std::string text = "The quick brown fox";
  return {text.begin(), text.end()};
}

/// T_base.gguf written anew, tensor by tensor; `change` may rename, reshape or (by an empty name) drop one.
std::vector<std::byte> rebuilt_base(
    const std::function<void(StoredTensor&, std::string& name)>& change,
    const std::function<void(GgufBuilder&)>& more = [](GgufBuilder&) {}) {
  const Result<GgufFile> file = GgufFile::open(gguf_test_file("T_base"));
  EXPECT_TRUE(file.ok()) << file.status();
  GgufBuilder builder;
  builder.string("general.architecture", "llama");
  for (const char* key : {"context_length", "embedding_length", "block_count", "feed_forward_length",
                          "attention.head_count", "attention.head_count_kv", "rope.dimension_count", "vocab_size"}) {
    const std::string name = std::string("llama.") + key;
    builder.u32(name, static_cast<uint32_t>(file->get_int(name).value()));
  }
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F).f32("llama.rope.freq_base", 10000.0F);
  for (StoredTensor tensor : file->tensors()) {
    std::string name(tensor.name);
    change(tensor, name);
    if (name.empty()) continue;
    const std::vector<uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
    builder.tensor(name, shape, 0, tensor.data);
  }
  more(builder);
  return builder.build();
}

void change_nothing(StoredTensor& /*tensor*/, std::string& /*name*/) {}

std::string load_error(const std::vector<std::byte>& bytes) {
  const TemporaryFile file(bytes);
  const auto executor = make_executor(file.path(), {});
  EXPECT_FALSE(executor.ok());
  return executor.ok() ? "" : executor.status().message();
}

class TinyModel : public ::testing::TestWithParam<CpuIsa> {
 protected:
  TestSequence greedy(const std::string& name, int32_t count) {
    const ExecutorShape shape{.isa = std::string(cpu_isa_name(GetParam())), .block_count = 16};
    const auto executor = make_executor(gguf_test_file(name), shape);
    EXPECT_TRUE(executor.ok()) << executor.status();
    return executor.ok() ? SequenceRunner(**executor, shape).generate(prompt_bytes(), count) : TestSequence{};
  }
};

TEST(B33_WeightsMap, e_RefusesATensorTheFamilyDoesNotKnow) {
  const std::vector<std::byte> extra(32 * 4);
  const auto bytes =
      rebuilt_base(change_nothing, [&](GgufBuilder& builder) { builder.tensor("blk.0.foo.weight", {32}, 0, extra); });
  EXPECT_THAT(load_error(bytes), HasSubstr("blk.0.foo.weight"));
}

TEST(B33_WeightsMap, f_RefusesAModelWithAMissingTensor) {
  const auto bytes = rebuilt_base([](StoredTensor& /*tensor*/, std::string& name) {
    if (name == "blk.1.ffn_up.weight") name.clear();
  });
  EXPECT_THAT(load_error(bytes), HasSubstr("blk.1.ffn_up.weight is missing"));
}

TEST(LlamaLoad, NamesBothShapesWhenATensorDoesNotFit) {
  const auto bytes = rebuilt_base([](StoredTensor& tensor, std::string& name) {
    if (name == "blk.0.attn_k.weight") tensor.shape = {16, 32};
  });
  EXPECT_THAT(load_error(bytes), HasSubstr("blk.0.attn_k.weight has shape [16, 32]"));
  EXPECT_THAT(load_error(bytes), HasSubstr("[32, 16]"));
}

TEST(LlamaLoad, TakesTheRebuiltFile) {
  const TemporaryFile file(rebuilt_base(change_nothing));
  EXPECT_TRUE(make_executor(file.path(), {}).ok());
}

TEST(LlamaLoad, CountsParameters) {
  const auto checkpoint = Checkpoint::open(gguf_test_file("T_base")).value();
  RankBackends one;
  one.backends.push_back(make_cpu_backend({.threads = 1}).value());
  const auto loaded = ParallelModel::load(*checkpoint, std::move(one), 8, [](int64_t) {});
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->parameter_count(), 23840);
}

// Five regions a layer, and a barrier inside one of them: hand-overs are what a lone stream waits for.
TEST(LlamaStep, HandsADrawnTokenOverFewTimes) {
  constexpr int32_t kLayers = 2;
  const ExecutorShape shape{.block_count = 16};
  const auto checkpoint = Checkpoint::open(gguf_test_file("T_base")).value();
  auto backend = make_cpu_backend({.threads = 2}).value();
  const CountedBackend& counted = *backend;
  auto model = load_model(*checkpoint, std::move(backend), shape.tokens_max);
  ASSERT_TRUE(model.ok()) << model.status();
  const KvLayout layout = KvLayout::for_model(model->config, shape.block_size, shape.kv_type, shape.tokens_max);
  const auto executor = ModelExecutor::create(std::move(model).value(), layout, shape.block_count).value();
  SequenceRunner runner(*executor, shape);
  TestSequence sequence{.tokens = prompt_bytes()};
  runner.add_slice(sequence, sequence.uncached());
  runner.step();
  const ThreadCounters before = counted.thread_counters();
  runner.add_slice(sequence, 1);
  runner.step();
  const ThreadCounters after = counted.thread_counters();
  EXPECT_EQ(after.regions - before.regions, 3 + 5 * kLayers);
  EXPECT_EQ(after.barriers - before.barriers, 5 + 6 * kLayers);
}

TEST_P(TinyModel, B32_QuantBlocks_f_TiedLlamaGivesTheReferenceTokens) {
  const TestSequence result = greedy("T_base", 3);
  EXPECT_THAT(drawn_tokens(result), ElementsAre(134, 253, 119));
  EXPECT_NEAR(result.samples.front().logprob, -0.550F, 0.03F);
}

TEST_P(TinyModel, B33_WeightsMap_a_OwnOutputMatrixIsUsed) {
  EXPECT_THAT(drawn_tokens(greedy("T_untied", 3)), ElementsAre(136, 174, 173));
}

TEST_P(TinyModel, B33_WeightsMap_b_WithoutOneTheEmbeddingIsTheHead) {
  EXPECT_THAT(drawn_tokens(greedy("T_base", 6)), ElementsAre(134, 253, 119, 175, 44, 83));
}

TEST_P(TinyModel, B33_WeightsMap_c_Qwen2BiasesAreAdded) {
  EXPECT_THAT(drawn_tokens(greedy("T_bias", 3)), ElementsAre(119, 151, 151));
}

// Tokens and log-probability from a float64 computation of the same file.
TEST_P(TinyModel, B33_WeightsMap_d_RopeBaseOfTheFileIsUsed) {
  const TestSequence result = greedy("T_theta", 5);
  EXPECT_THAT(drawn_tokens(result), ElementsAre(253, 8, 177, 61, 151));
  EXPECT_NEAR(result.samples.front().logprob, -0.8881F, 0.03F);
}

INSTANTIATE_TEST_SUITE_P(Isa, TinyModel, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine
