#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/safetensors.h"
#include "tests/engine/gguf_builder.h"
#include "tests/engine/temporary_folder.h"

namespace sluice::engine {

inline std::string hf_test_folder(std::string_view name) {
  return std::string(SLUICE_SOURCE_DIR "/tests/data/hf/") + std::string(name);
}

inline nlohmann::json read_test_json(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in.good()) << path;
  return nlohmann::json::parse(in);
}

/// Writes safetensors files, good ones and bad ones; checks nothing.
class SafetensorsBuilder {
 public:
  SafetensorsBuilder& tensor(const std::string& name, const std::string& dtype, const std::vector<int64_t>& shape,
                             std::span<const std::byte> data) {
    const size_t begin = data_.bytes().size();
    data_.append(data);
    header_[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {begin, data_.bytes().size()}}};
    return *this;
  }
  std::vector<std::byte> build() const { return ByteWriter().string(header_.dump()).append(data_.bytes()).bytes(); }

 private:
  nlohmann::ordered_json header_ = nlohmann::ordered_json::object();
  ByteWriter data_;
};

/// A copy of one of the tests' folders, to be changed.
class HfFolder {
 public:
  explicit HfFolder(std::string_view name) : config_(read_test_json(hf_test_folder(name) + "/config.json")) {
    for (const auto& entry : std::filesystem::directory_iterator(hf_test_folder(name))) {
      std::filesystem::copy(entry.path(), folder_.path_of(entry.path().filename().string()));
    }
  }

  const std::string& path() const { return folder_.path(); }
  const TemporaryFolder& files() const { return folder_; }

  /// Changes config.json and writes it.
  void configure(const std::function<void(nlohmann::json&)>& change) {
    change(config_);
    folder_.write("config.json", config_.dump());
  }

  /// The tensors of model.safetensors as they are in the test's folder, F32 all of them.
  void for_each_tensor(std::string_view name, const std::function<void(const SafetensorsEntry&)>& take) const {
    const auto file = SafetensorsFile::open(hf_test_folder(name) + "/model.safetensors");
    ASSERT_TRUE(file.ok()) << file.status();
    for (const SafetensorsEntry& entry : file->entries()) take(entry);
  }

 private:
  TemporaryFolder folder_;
  nlohmann::json config_;
};

}  // namespace sluice::engine
