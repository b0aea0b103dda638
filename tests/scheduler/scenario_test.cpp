#include "tests/scheduler/scenario.h"

#include <algorithm>
#include <filesystem>

#include <gtest/gtest.h>

namespace sluice::scheduler {
namespace {

std::vector<std::string> scenario_files() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(SLUICE_SOURCE_DIR "/tests/scheduler/scenarios")) {
    paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

class ScenarioFile : public ::testing::TestWithParam<std::string> {};

TEST_P(ScenarioFile, GoesAsWritten) {
  Scenario().run(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Files, ScenarioFile, ::testing::ValuesIn(scenario_files()),
                         [](const auto& info) { return std::filesystem::path(info.param).stem().string(); });

}  // namespace
}  // namespace sluice::scheduler
