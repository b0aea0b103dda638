#include "server/model_check.h"

#include <cstdio>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/hf_folder.h"

namespace sluice::server {
namespace {

using ::testing::HasSubstr;

Result<std::string> check(const std::string& path, int32_t tensor_parallel = 1) {
  Config config;
  config.model.path = path;
  config.engine.tensor_parallel = tensor_parallel;
  const SteadyClock clock;
  Logger logger(stderr, LogLevel::kError, [] { return std::chrono::system_clock::time_point(); });
  return check_model(config, {clock, logger});
}

TEST(ModelCheck, TellsWhatAGgufFileIs) {
  const auto summary = check(engine::gguf_test_file("T_base"));
  ASSERT_TRUE(summary.ok()) << summary.status();
  for (const char* const part : {"architecture   llama\n", "parameters     23840\n", "20 of F32 (0.1 MiB)",
                                 "layers         2\n", "context        256 tokens\n", "vocabulary     260 tokens\n",
                                 "KV cache       128 bytes per token as f16\n", "verified"}) {
    EXPECT_THAT(*summary, HasSubstr(part));
  }
}

TEST(ModelCheck, NamesATensorWithAValueThatIsNoNumber) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    auto bytes = engine::read_test_file("T_base");
    std::memcpy(bytes.data() + bytes.size() - 8, &bad, sizeof(bad));  // in output_norm, the last tensor
    const engine::TemporaryFile file(bytes);
    const auto summary = check(file.path());
    ASSERT_FALSE(summary.ok());
    EXPECT_THAT(summary.status().message(), HasSubstr(": tensor output_norm.weight has a value in row 0 that is not"));
  }
}

TEST(ModelCheck, TellsWhatASyntheticModelIs) {
  const auto summary = check("synthetic:tiny:q8_0");
  ASSERT_TRUE(summary.ok()) << summary.status();
  for (const char* const part :
       {"model          tiny\n", "parameters     1312000\n", "5 of F32 (0.0 MiB), 15 of Q8_0 (1.3 MiB)",
        "layers         2\n", "vocabulary     512 tokens\n", "chat template  yes\n", "verified"}) {
    EXPECT_THAT(*summary, HasSubstr(part));
  }
}

TEST(ModelCheck, LoadsAndStepsEveryRank) {
  const auto summary = check("synthetic:tiny:q8_0", 2);
  ASSERT_TRUE(summary.ok()) << summary.status();
  for (const char* const part : {"parameters     1312000\n", "device         2 ranks of cpu", "verified"}) {
    EXPECT_THAT(*summary, HasSubstr(part));
  }
  EXPECT_THAT(check("synthetic:tiny:q8_0", 4).status().message(),
              HasSubstr("engine.tensor_parallel is 4, but the model has 4 heads, 2 KV heads"));
  EXPECT_THAT(check("synthetic:tiny:q4_k", 2).status().message(), HasSubstr("can't be cut into 2 equal runs"));
}

TEST(ModelCheck, RefusesWhatCanNotBeLoaded) {
  EXPECT_THAT(check("synthetic:nothing").status().message(), HasSubstr("there is no preset nothing; there are "));
  EXPECT_THAT(check("/nonexistent.gguf").status().message(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace sluice::server
