#include <algorithm>
#include <filesystem>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "engine/gguf.h"
#include "engine/gguf_parser.h"
#include "engine/model_config.h"
#include "tests/engine/gguf_builder.h"
#include "tests/engine/peak_memory.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// The file is refused in one line that names it and says `reason`, without taking memory for what it only claims to
/// hold.
void expect_refused_path(const std::string& path, std::string_view reason) {
  const int64_t before_kib = peak_memory_kib();
  const Result<GgufFile> file = GgufFile::open(path);
  EXPECT_LT(peak_memory_kib() - before_kib, 64 * 1024);
  ASSERT_FALSE(file.ok()) << path;
  EXPECT_THAT(file.status().message(), StartsWith(path + ": "));
  EXPECT_THAT(file.status().message(), HasSubstr(reason));
  EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
}

void expect_refused(std::string_view name, std::string_view reason) {
  expect_refused_path(gguf_test_file(name), reason);
}

void expect_refused_bytes(const std::vector<std::byte>& bytes, std::string_view reason) {
  const TemporaryFile file(bytes);
  expect_refused_path(file.path(), reason);
}

TEST(B12_GgufHostile, a_MetadataCountOfAllOnes) {
  expect_refused("B12_a_nkv_max", "18446744073709551615 metadata entries");
}
TEST(B12_GgufHostile, b_TensorCountOfAllOnes) {
  expect_refused("B12_b_ntensors_max", "18446744073709551615 tensors");
}
TEST(B12_GgufHostile, c_KeyLengthThatWraps) {
  expect_refused("B12_c_keylen", "the file has only");
}
TEST(B12_GgufHostile, d_KeyOfOneGibibyte) {
  expect_refused("B12_d_key1GiB", "the file has only");
}
TEST(B12_GgufHostile, e_StringOfHalfTheAddressSpace) {
  expect_refused("B12_e_vallen", "general.name: 9223372036854775808 bytes");
}
TEST(B12_GgufHostile, f_ArrayWhoseByteCountWraps) {
  expect_refused("B12_f_array_wrap", "x.a: 4611686018427387905 array elements");
}
TEST(B12_GgufHostile, g_ArrayOfTwoBillionStrings) {
  expect_refused("B12_g_array_strings", "x.a: 2147483648 array strings");
}
TEST(B12_GgufHostile, h_TensorOfNineDimensions) {
  expect_refused("B12_h_ndims9", "token_embd.weight: it has 9 dimensions");
}
TEST(B12_GgufHostile, i_TensorOfFourBillionDimensions) {
  expect_refused("B12_i_ndims_max", "4294967295 dimensions");
}
TEST(B12_GgufHostile, j_ShapeWhoseProductWraps) {
  expect_refused("B12_j_prod", "more bytes than the file has");
}
TEST(B12_GgufHostile, k_NegativeDimension) {
  expect_refused("B12_k_neg", "a dimension has the length 18446744073709551612");
}

TEST(B12_GgufHostile, l_CutOffFiles) {
  std::vector<std::byte> bytes = read_test_file("T_base");
  const size_t whole = bytes.size();
  bytes.resize(whole - 1);
  expect_refused_bytes(bytes, "output_norm.weight: its 128 bytes at offset 95232 lie beyond the end");
  bytes.resize(whole / 2);
  expect_refused_bytes(bytes, "beyond the end of the data");
  bytes.resize(3000);
  expect_refused_bytes(bytes, "the file has only 3 more");
  expect_refused("B12_l_empty", "empty");
  expect_refused("B12_l_magic", "the file has only 0 more");
}

TEST(B12_GgufHostile, AKeyLongerThanTheFileIsRefused) {
  std::vector<std::byte> bytes = GgufBuilder().string("general.architecture", "llama").build();
  const uint64_t length = uint64_t{0} - 16;  // position + length wraps to a place inside the file
  std::memcpy(&bytes[24], &length, sizeof length);
  expect_refused_bytes(bytes, "18446744073709551600 bytes wanted at offset 32");
}

TEST(B12_GgufHostile, TheUndamagedFileLoads) {
  const Result<GgufFile> file = GgufFile::open(gguf_test_file("T_base"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->tensors().size(), 20U);
  EXPECT_TRUE(ModelConfig::from_gguf(*file).ok());
}

// Each prefix of the header lies in a buffer of exactly its size, so that the address sanitizer sees a read past its
// end.
TEST(B12_GgufHostile, EveryPrefixOfTheHeaderIsRefused) {
  const std::vector<std::byte> bytes = read_test_file("T_base");
  ASSERT_GT(bytes.size(), 6000U);
  for (size_t size = 0; size < 6000; ++size) {
    const auto prefix = std::make_unique<std::byte[]>(size);
    std::copy_n(bytes.begin(), size, prefix.get());
    ASSERT_FALSE(parse_gguf({prefix.get(), size}).ok()) << size;
  }
}

TEST(B12_GgufHostile, OnlyTheWholeDataSectionIsAccepted) {
  const std::vector<std::byte> bytes = read_test_file("T_base");
  for (size_t size = 6000; size <= bytes.size(); ++size) {
    ASSERT_EQ(parse_gguf(std::span(bytes).first(size)).ok(), size == bytes.size()) << size;
  }
}

/// Reads everything a file hands out, so that the address sanitizer sees whether it is there.
int64_t touch_everything(const GgufContents& contents) {
  int64_t sum = 0;
  for (const StoredTensor& tensor : contents.tensors) {
    sum += std::to_integer<int>(tensor.data.front()) + std::to_integer<int>(tensor.data.back()) + tensor.name.back();
    std::vector<float> decoded(static_cast<size_t>(tensor.row_length()));
    const int64_t row_bytes = tensor_bytes(tensor.type, tensor.row_length());
    dequantize(tensor.type, tensor.data.last(static_cast<size_t>(row_bytes)), decoded);
    EXPECT_EQ(row_bytes * tensor.row_count(), static_cast<int64_t>(tensor.data.size()));
  }
  for (const auto& [key, value] : contents.metadata) {
    const auto* array = std::get_if<GgufArray>(&value);
    const auto* strings = array == nullptr ? nullptr : std::get_if<std::vector<std::string_view>>(array);
    if (strings == nullptr) continue;
    for (const std::string_view text : *strings) sum += text.empty() ? 0 : text.front() + text.back();
  }
  return sum;
}

void flip_some_bytes(std::span<std::byte> bytes, uint64_t seed) {
  const uint64_t count = 1 + random_bits(seed, 0) % 8;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t bits = random_bits(seed, 1 + i);
    // Small files are mostly lengths and types: half of the time the byte is made extreme rather than random.
    const std::byte extreme = (bits >> 41) % 2 == 0 ? std::byte{0} : std::byte{0xff};
    bytes[(bits >> 8) % bytes.size()] = (bits >> 40) % 2 == 0 ? extreme : static_cast<std::byte>(bits);
  }
}

TEST(B12_GgufHostile, FlippedHeaderBytesNeverCrash) {
  constexpr size_t kHeaderBytes = 5622;
  const std::vector<std::byte> good = read_test_file("T_base");
  const int64_t before_kib = peak_memory_kib();
  int accepted = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    std::vector<std::byte> bytes = good;
    flip_some_bytes(std::span(bytes).first(kHeaderBytes), seed);
    const Result<GgufContents> contents = parse_gguf(bytes);
    if (contents.ok()) {
      touch_everything(*contents);
      ++accepted;
    } else {
      ASSERT_EQ(contents.status().message().find('\n'), std::string::npos) << "seed " << seed;
    }
  }
  EXPECT_GT(accepted, 100);  // token texts can be anything
  EXPECT_LT(accepted, 3900);
  EXPECT_LT(peak_memory_kib() - before_kib, 512 * 1024);  // the address sanitizer keeps freed memory for a while
}

}  // namespace
}  // namespace sluice::engine
