#include "server/device_name.h"

#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using Kind = DeviceName::Kind;

DeviceName parsed(std::string_view text) {
  const Result<DeviceName> name = parse_device_name(text);
  EXPECT_TRUE(name.ok()) << name.status();
  return name.ok() ? *name : DeviceName{};
}

TEST(DeviceName, TellsTheKinds) {
  EXPECT_EQ(parsed("auto").kind, Kind::kAuto);
  EXPECT_EQ(parsed("cpu").kind, Kind::kCpu);
  EXPECT_EQ(parsed("cuda").kind, Kind::kCuda);
  EXPECT_EQ(parsed("cuda:1").kind, Kind::kCuda);
}

TEST(DeviceName, NumbersGpus) {
  EXPECT_EQ(parsed("cuda").ordinal, 0);
  EXPECT_EQ(parsed("cuda:0").ordinal, 0);
  EXPECT_EQ(parsed("cuda:10").ordinal, 10);
  EXPECT_EQ(parsed("cuda:63").ordinal, 63);
}

TEST(DeviceName, TakesOneSpellingOfEach) {
  for (const std::string text : {"",         "Auto",
                                 "CPU",      "cpu:0",
                                 "cud",      "cudas",
                                 "CUDA",     "gpu",
                                 "cuda ",    " cuda",
                                 "cuda:",    "cuda:-1",
                                 "cuda:+1",  "cuda:01",
                                 "cuda:00",  "cuda:1 ",
                                 "cuda: 1",  "cuda:1x",
                                 "cuda:1.0", "cuda:0x1",
                                 "cuda:64",  "cuda:99999999999",
                                 "cuda:1,2", "cuda:all"}) {
    const Result<DeviceName> refused = parse_device_name(text);
    ASSERT_FALSE(refused.ok()) << text;
    EXPECT_EQ(refused.status().code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(refused.status().field(), "engine.device");
    EXPECT_EQ(refused.status().message(),
              "engine.device must be auto, cpu, cuda, or cuda:0 to cuda:63, not \"" + text + '"');
  }
}

}  // namespace
}  // namespace sluice::server
