#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace sluice::engine {

/// The path of what scripts/fetch_model.sh puts there; a failure of the test when it is missing.
inline std::string model_file(std::string_view name, std::string_view fetched_as) {
  std::string path = std::string(SLUICE_MODELS) + "/" + std::string(name);
  EXPECT_TRUE(std::filesystem::exists(path))
      << path << " is missing: scripts/fetch_model.sh " << fetched_as << " fetches it";
  return path;
}

inline std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path << " is missing";
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace sluice::engine
