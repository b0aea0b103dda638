#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::engine {

/// Little-endian bytes, appended one value after the other.
class ByteWriter {
 public:
  template <typename T>
  ByteWriter& number(T value) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof(T));
    return *this;
  }
  ByteWriter& raw(std::string_view text) {
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
    return *this;
  }
  ByteWriter& string(std::string_view text) { return number(uint64_t{text.size()}).raw(text); }
  ByteWriter& append(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  ByteWriter& pad_to(size_t multiple) {
    while (bytes_.size() % multiple != 0) bytes_.push_back(std::byte{0});
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Writes GGUF files, good ones and bad ones; checks nothing.
class GgufBuilder {
 public:
  explicit GgufBuilder(uint32_t version = 3) : version_(version) {}

  GgufBuilder& metadata(std::string_view key, uint32_t type, const ByteWriter& value) {
    metadata_.string(key).number(type).append(value.bytes());
    ++metadata_count_;
    return *this;
  }
  GgufBuilder& u32(std::string_view key, uint32_t value) { return metadata(key, 4, ByteWriter().number(value)); }
  GgufBuilder& f32(std::string_view key, float value) { return metadata(key, 6, ByteWriter().number(value)); }
  GgufBuilder& boolean(std::string_view key, bool value) {
    return metadata(key, 7, ByteWriter().number(uint8_t{value}));
  }
  GgufBuilder& string(std::string_view key, std::string_view value) {
    return metadata(key, 8, ByteWriter().string(value));
  }
  GgufBuilder& strings(std::string_view key, const std::vector<std::string>& values) {
    ByteWriter array;
    array.number(uint32_t{8}).number(uint64_t{values.size()});
    for (const std::string& value : values) array.string(value);
    return metadata(key, 9, array);
  }

  GgufBuilder& tensor_header(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type,
                             uint64_t offset) {
    tensors_.string(name).number(static_cast<uint32_t>(shape.size()));
    for (const uint64_t length : shape) tensors_.number(length);
    tensors_.number(type).number(offset);
    ++tensor_count_;
    return *this;
  }
  /// A tensor with its bytes, placed behind those before it.
  GgufBuilder& tensor(std::string_view name, const std::vector<uint64_t>& shape, uint32_t type,
                      std::span<const std::byte> data) {
    data_.pad_to(32);
    tensor_header(name, shape, type, data_.bytes().size());
    data_.append(data);
    return *this;
  }
  GgufBuilder& data(size_t bytes) {
    data_.append(std::vector<std::byte>(bytes));
    return *this;
  }

  std::vector<std::byte> build(size_t alignment = 32) const {
    ByteWriter file;
    file.raw("GGUF").number(version_).number(tensor_count_).number(metadata_count_);
    file.append(metadata_.bytes()).append(tensors_.bytes());
    if (tensor_count_ > 0) file.pad_to(alignment).append(data_.bytes());
    return file.bytes();
  }

 private:
  uint32_t version_;
  uint64_t metadata_count_ = 0;
  uint64_t tensor_count_ = 0;
  ByteWriter metadata_;
  ByteWriter tensors_;
  ByteWriter data_;
};

/// A file with these bytes that goes away with this object.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::span<const std::byte> bytes, std::string_view suffix = ".gguf") {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = ::testing::TempDir() + "sluice_" + test->test_suite_name() + "_" + test->name() + "_" +
            std::to_string(::getpid()) + std::string(suffix);
    write(bytes);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) const {
    std::ofstream out(path_, std::ios::binary | std::ios::trunc);
    out.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    ASSERT_TRUE(out.good());
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string gguf_test_file(std::string_view name) {
  return std::string(SLUICE_SOURCE_DIR "/tests/data/gguf/") + std::string(name) + ".gguf";
}

inline std::vector<std::byte> read_test_file(std::string_view name) {
  std::ifstream in(gguf_test_file(name), std::ios::binary);
  EXPECT_TRUE(in.good()) << gguf_test_file(name) << " is missing";
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return ByteWriter().raw(text).bytes();
}

}  // namespace sluice::engine
