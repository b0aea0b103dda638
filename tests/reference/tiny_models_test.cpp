#include <algorithm>
#include <cmath>
#include <fstream>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/cpu/cpu_isa.h"
#include "gpu_backend.h"
#include "tests/engine/parallel_ranks.h"

// Small checkpoints of all families with random weights, against what the models' original library gives in float32.
// Keys and values are kept as floats: rounded ones send a token of qwen3-moe to another expert, whose score is as good.

namespace sluice::engine {
namespace {

using nlohmann::json;

struct TinyModel {
  std::string name;
  std::string source;  // "folder" or "gguf"
  std::string isa;     // of the CPU, or ReferenceGpu::kName
  int32_t ranks = 1;   // that share the model
};

void PrintTo(const TinyModel& model, std::ostream* out) {
  *out << model.name << " from " << model.source << " with " << model.isa << ", ranks: " << model.ranks;
}

std::string path_of(const TinyModel& model) {
  if (model.source == "gguf") return SLUICE_TINY "/" + model.name + ".gguf";
  return (model.name == "phi3" ? SLUICE_TINY "/" : SLUICE_SOURCE_DIR "/tests/data/tiny/") + model.name;
}

json expected_of(const TinyModel& model) {
  const std::string folder = model.name == "phi3" ? "llama" : model.name;
  std::ifstream file(SLUICE_SOURCE_DIR "/tests/data/tiny/" + folder + "/expected.json");
  return json::parse(file);
}

double log_sum(const std::vector<double>& logits) {
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit);
  return std::log(sum);
}

double deviation(const std::vector<double>& logits) {
  double sum = 0;
  double squares = 0;
  for (const double logit : logits) {
    sum += logit;
    squares += logit * logit;
  }
  const auto count = static_cast<double>(logits.size());
  return std::sqrt(squares / count - sum / count * (sum / count));
}

class TinyModels : public ::testing::TestWithParam<TinyModel> {
 protected:
  void SetUp() override {
    auto ranks = make_backends();
    ASSERT_TRUE(ranks.ok()) << ranks.status();
    auto model = make_parallel_model(path_of(GetParam()), shape_, std::move(ranks).value());
    ASSERT_TRUE(model.ok()) << model.status();
    model_ = std::move(model).value();
    expected_ = expected_of(GetParam());
  }

  Result<RankBackends> make_backends() {
    if (GetParam().isa != ReferenceGpu::kName)
      return make_cpu_ranks(GetParam().ranks, {.threads = 2, .isa = GetParam().isa});
    RankBackends ranks;
    SLUICE_ASSIGN_OR_RETURN(auto backend, gpu_.backend({.element = cuda::Element::kF32}));
    ranks.backends.push_back(std::move(backend));
    return ranks;
  }

  /// The log-probabilities of all tokens after a prompt, which goes in in slices.
  std::vector<double> scores_after(const std::vector<int32_t>& prompt, int32_t vocab_size, int32_t slice) {
    SequenceRunner runner(*model_.executor, model_.groups, shape_);
    TestSequence sequence{.tokens = prompt};
    const auto last = static_cast<int32_t>(prompt.size()) - 1;
    while (sequence.cached < last) {
      runner.add_slice(sequence, std::min(slice, last - sequence.cached));
      runner.step();
    }
    runner.add_slice_scoring_all(sequence, vocab_size);
    std::vector<double> scores;
    for (const SampledToken& sample : runner.step()) scores.push_back(double{sample.logprob});
    runner.release(sequence);
    return scores;
  }

  ReferenceGpu gpu_;
  ExecutorShape shape_{.block_size = 8, .block_count = 256, .tokens_max = 64, .kv_type = KvType::kF32};
  TestModel model_;
  json expected_;
};

TEST_P(TinyModels, GiveTheReferencesLogits) {
  for (size_t i = 0; i < expected_.at("prompts").size(); ++i) {
    const std::vector<double> logits = expected_.at("logits")[i];
    const double limit = 0.02 * deviation(logits);
    const double total = log_sum(logits);
    const std::vector<double> scores =
        scores_after(expected_.at("prompts")[i], static_cast<int32_t>(logits.size()), 64);
    ASSERT_EQ(scores.size(), logits.size());
    for (size_t token = 0; token < logits.size(); ++token) {
      EXPECT_NEAR(scores[token], logits[token] - total, limit) << "prompt " << i << ", token " << token;
    }
  }
}

TEST_P(TinyModels, GiveTheReferencesTokens) {
  SequenceRunner runner(*model_.executor, model_.groups, shape_);
  for (size_t i = 0; i < expected_.at("prompts").size(); ++i) {
    const std::vector<int32_t> greedy = expected_.at("greedy")[i];
    const double limit = 0.02 * deviation(expected_.at("logits")[i]);
    TestSequence sequence{.tokens = expected_.at("prompts")[i]};
    for (size_t step = 0; step < greedy.size(); ++step) {
      while (sequence.uncached() > 0) {
        runner.add_slice(sequence, std::min(sequence.uncached(), 64));
        const bool draws = sequence.uncached() == 0;
        runner.step();
        if (draws) break;
      }
      const SampledToken& sample = sequence.samples.back();
      const float gap = sample.top[0].logprob - sample.top[1].logprob;
      if (gap <= limit && sample.token != greedy[step]) break;  // from here on another text may be right
      ASSERT_EQ(sample.token, greedy[step]) << "prompt " << i << ", step " << step;
    }
    runner.release(sequence);
  }
}

TEST_P(TinyModels, GiveTheSameInSlicesAsAtOnce) {
  const std::vector<int32_t> prompt = expected_.at("prompts").back();
  const std::vector<double> logits = expected_.at("logits").back();
  const double limit = 0.02 * deviation(logits);
  const auto vocab_size = static_cast<int32_t>(logits.size());
  const std::vector<double> whole = scores_after(prompt, vocab_size, 64);
  for (const int32_t slice : {1, 5, 33}) {
    const std::vector<double> sliced = scores_after(prompt, vocab_size, slice);
    for (size_t token = 0; token < whole.size(); ++token) EXPECT_NEAR(sliced[token], whole[token], limit) << slice;
  }
}

std::vector<TinyModel> all_models() {
  std::vector<TinyModel> models;
  for (const char* name :
       {"gemma3", "llama", "llama3-rope", "mistral-window", "mixtral", "phi3", "qwen2", "qwen3", "qwen3-moe"}) {
    for (const CpuIsa isa : available_cpu_isas()) {
      for (const char* source : {"folder", "gguf"}) models.push_back({name, source, std::string(cpu_isa_name(isa))});
    }
  }
  for (const char* name :
       {"gemma3", "llama", "llama3-rope", "mistral-window", "mixtral", "phi3", "qwen3", "qwen3-moe"}) {
    for (const char* source : {"folder", "gguf"}) models.push_back({name, source, "auto", 2});
  }
  for (const char* name :
       {"gemma3", "llama", "llama3-rope", "mistral-window", "mixtral", "qwen2", "qwen3", "qwen3-moe"}) {
    models.push_back({name, "folder", ReferenceGpu::kName});
  }
  return models;
}

INSTANTIATE_TEST_SUITE_P(All, TinyModels, ::testing::ValuesIn(all_models()), [](const auto& test) {
  std::string name = test.param.name + "_" + test.param.source + "_" + test.param.isa;
  if (test.param.ranks > 1) name += "_ranks";
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace sluice::engine
