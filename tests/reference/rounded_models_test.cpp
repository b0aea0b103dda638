#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gpu_backend.h"
#include "tests/engine/sequence_runner.h"

// What bf16 and fp8 cost small models of all families, against what their original library gives in float32.

namespace sluice::engine {
namespace {

using nlohmann::json;

constexpr size_t kPrompts = 3;  // the shortest: of 1, 7 and 40 tokens
constexpr const char* kModels[] = {"gemma3", "llama", "llama3-rope", "mistral-window", "qwen2", "qwen3"};

struct Agreement {
  double logit_error = 0;  // root mean square, relative to the logits' deviation
  int32_t equal = 0;       // tokens that are the reference's, when they follow its text
  int32_t tokens = 0;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// A model beside its reference.
class FittedModel {
 public:
  FittedModel(const std::string& name, KvType kv_type) : folder_(SLUICE_SOURCE_DIR "/tests/data/tiny/" + name) {
    shape_.kv_type = kv_type;
    std::ifstream file(folder_ + "/expected.json");
    expected_ = json::parse(file);
  }

  /// FAILED_PRECONDITION when the GPU has no such products.
  Result<Agreement> agreement(const CudaOptions& options = {}) {
    SLUICE_ASSIGN_OR_RETURN(auto backend, gpu_.backend(options));
    SLUICE_ASSIGN_OR_RETURN(executor_, make_executor(folder_, shape_, std::move(backend)));
    Agreement found;
    std::vector<double> errors;
    for (size_t i = 0; i < kPrompts; ++i) {
      errors.push_back(squared_logit_error(expected_["prompts"][i], expected_["logits"][i]));
      count_tokens(expected_["prompts"][i], expected_["greedy"][i], found);
    }
    found.logit_error = std::sqrt(mean(errors));
    return found;
  }

 private:
  /// Log-probabilities and logits differ by the same for all tokens.
  double squared_logit_error(const std::vector<int32_t>& prompt, const std::vector<double>& logits) {
    SequenceRunner runner(*executor_, shape_);
    TestSequence sequence{.tokens = prompt};
    if (prompt.size() > 1) {
      runner.add_slice(sequence, static_cast<int32_t>(prompt.size()) - 1);
      runner.step();
    }
    runner.add_slice_scoring_all(sequence, static_cast<int32_t>(logits.size()));
    std::vector<double> differences;
    std::vector<double> squares;
    for (const SampledToken& sample : runner.step()) {
      differences.push_back(double{sample.logprob} - logits[differences.size()]);
    }
    std::vector<double> spread;
    for (const double difference : differences) squares.push_back(std::pow(difference - mean(differences), 2));
    for (const double logit : logits) spread.push_back(std::pow(logit - mean(logits), 2));
    return mean(squares) / mean(spread);
  }

  void count_tokens(std::vector<int32_t> text, const std::vector<int32_t>& greedy, Agreement& found) {
    SequenceRunner runner(*executor_, shape_);
    TestSequence sequence{.tokens = std::move(text)};
    for (const int32_t token : greedy) {
      runner.add_slice(sequence, sequence.uncached());
      runner.step();
      ++found.tokens;
      found.equal += sequence.tokens.back() == token ? 1 : 0;
      sequence.tokens.back() = token;
    }
  }

  std::string folder_;
  ReferenceGpu gpu_;
  ExecutorShape shape_{.block_size = 8, .block_count = 256, .tokens_max = 64};
  std::unique_ptr<ModelExecutor> executor_;
  json expected_;
};

/// bf16 rounds by 2^-9 at most, each number some tens of times on its way through a model, and in random directions.
constexpr double kBf16Error = 0.04;
constexpr double kBf16EqualShare = 0.8;

/// e4m3 keeps three bits behind the first and bf16 seven, so it rounds sixteen times as coarsely; a scale takes care of
/// the range. A cache in fp8 instead of bf16 makes errors sixteen times those of bf16 in all places at most.
constexpr double kCoarserCache = 16;

/// With products in fp8 the weights are rounded as well, which bf16 has exactly: by as much as what goes into them and
/// independently, so both together make root two times the error.
constexpr double kCoarserProducts = 16 * 1.4142135624;

/// Random weights put many tokens close to the likeliest, so some of them change places.
constexpr double kEqualShare = 0.5;

class RoundedModels : public ::testing::TestWithParam<const char*> {
 protected:
  void expect_close(const std::string& what, const Agreement& found, double error_max, double equal_share) {
    EXPECT_LE(found.logit_error, error_max) << what;
    EXPECT_GE(found.equal, equal_share * found.tokens) << what << ", of " << found.tokens;
    RecordProperty(what + "_logit_error", std::to_string(found.logit_error));
    RecordProperty(what + "_equal_tokens", found.equal);
  }
};

TEST_P(RoundedModels, StayWithinTheirRounding) {
  const Result<Agreement> bf16 = FittedModel(GetParam(), KvType::kBf16).agreement();
  ASSERT_TRUE(bf16.ok()) << bf16.status();
  expect_close("bf16", *bf16, kBf16Error, kBf16EqualShare);
  const Result<Agreement> cache = FittedModel(GetParam(), KvType::kFp8).agreement();
  ASSERT_TRUE(cache.ok()) << cache.status();
  expect_close("cache", *cache, kCoarserCache * bf16->logit_error, kEqualShare);

  const CudaOptions in_fp8{.element = cuda::Element::kFp8};
  const Result<Agreement> products = FittedModel(GetParam(), KvType::kBf16).agreement(in_fp8);
  if (products.status().code() == StatusCode::kFailedPrecondition) GTEST_SKIP() << products.status();
  const Result<Agreement> both = FittedModel(GetParam(), KvType::kFp8).agreement(in_fp8);
  ASSERT_TRUE(products.ok() && both.ok()) << products.status() << both.status();
  expect_close("products", *products, kCoarserProducts * bf16->logit_error, kEqualShare);
  expect_close("both", *both, kCoarserProducts * bf16->logit_error, kEqualShare);
}

INSTANTIATE_TEST_SUITE_P(All, RoundedModels, ::testing::ValuesIn(kModels), [](const auto& test) {
  std::string name = std::string(test.param) + "_" + ReferenceGpu::kName;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

}  // namespace
}  // namespace sluice::engine
