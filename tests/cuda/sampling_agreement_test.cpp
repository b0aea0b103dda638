#include <bit>
#include <sstream>

#include <gtest/gtest.h>

#include "tests/cuda/sampling_run.h"

namespace sluice::engine::cuda {
namespace {

// The kernels against the CPU's sampler, with which they agree to the last token.

std::string text_of(const SamplingCase& a_case) {
  std::ostringstream text;
  text << "vocab " << a_case.logits.size() << " temperature " << a_case.params.temperature << " top_k "
       << a_case.params.top_k << " top_p " << a_case.params.top_p << " min_p " << a_case.params.min_p << " grammar "
       << !a_case.allowed.empty();
  return text.str();
}

/// Logarithms of sums differ in the last bit of a double at most, which may turn the last bit of a float.
bool is_same_logprob(float a, float b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::nextafter(a, b) == b;
}

void expect_same(const SampledToken& expected, const SampledToken& sampled, const SamplingCase& a_case) {
  EXPECT_EQ(sampled.token, expected.token) << text_of(a_case);
  EXPECT_PRED2(is_same_logprob, sampled.logprob, expected.logprob) << text_of(a_case);
  ASSERT_EQ(sampled.top.size(), expected.top.size()) << text_of(a_case);
  for (size_t i = 0; i < expected.top.size(); ++i) {
    EXPECT_EQ(sampled.top[i].token, expected.top[i].token) << text_of(a_case);
    EXPECT_PRED2(is_same_logprob, sampled.top[i].logprob, expected.top[i].logprob) << text_of(a_case);
  }
}

void expect_as_on_cpu(std::span<const SamplingCase> cases, gpu::KernelOrder order, uint32_t blocks) {
  const std::vector<SampledToken> sampled = SamplingRun(cases, order, blocks).sample();
  for (size_t row = 0; row < cases.size(); ++row) expect_same(sample_on_cpu(cases[row]), sampled[row], cases[row]);
}

std::vector<SamplingCase> cases_of(int32_t vocab_size, int32_t count, uint32_t seed) {
  CaseSource source(seed);
  std::vector<SamplingCase> cases;
  for (int32_t i = 0; i < count; ++i) {
    cases.push_back(source.draw(vocab_size));
    if (source.one_in(10)) cases.back().scored_token = source.below(vocab_size);
  }
  return cases;
}

TEST(SamplingKernels, AgreeOverThousandsOfDraws) {
  for (const int32_t vocab_size : {7, 33, 256, 257, 700}) expect_as_on_cpu(cases_of(vocab_size, 300, 1), {}, 7);
  expect_as_on_cpu(cases_of(5000, 60, 2), {}, 3);
}

TEST(SamplingKernels, AgreeInEveryOrderOfThreadsAndBlocks) {
  for (const gpu::KernelOrder& order : gpu::kernel_orders()) {
    expect_as_on_cpu(cases_of(31, 20, 3), order, 2);
    expect_as_on_cpu(cases_of(1000, 20, 4), order, 5);
  }
}

TEST(SamplingKernels, AgreeOverALargeVocabulary) {
  for (const gpu::KernelOrder& order : {gpu::KernelOrder{}, gpu::kernel_orders().back()})
    expect_as_on_cpu(cases_of(49152, 8, 5), order, 2);
}

}  // namespace
}  // namespace sluice::engine::cuda
