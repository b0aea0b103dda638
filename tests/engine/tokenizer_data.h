#pragma once

#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace sluice::engine {

/// A file of tests/data/tokenizer.
inline nlohmann::json read_tokenizer_data(std::string_view name) {
  std::ifstream in(std::string(SLUICE_SOURCE_DIR "/tests/data/tokenizer/") + std::string(name));
  EXPECT_TRUE(in.good()) << name << " is missing";
  return nlohmann::json::parse(in);
}

}  // namespace sluice::engine
