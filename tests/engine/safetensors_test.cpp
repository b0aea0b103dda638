#include "engine/safetensors.h"

#include <algorithm>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/safetensors_parser.h"
#include "tests/engine/gguf_builder.h"
#include "tests/engine/peak_memory.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::string case_file(std::string_view name) {
  return std::string(SLUICE_SOURCE_DIR "/tests/data/safetensors/B13_") + std::string(name) + ".safetensors";
}

std::vector<std::byte> file_of(std::string_view header, size_t data_bytes) {
  ByteWriter file;
  file.string(header).append(std::vector<std::byte>(data_bytes));
  return file.bytes();
}

std::string error_of(std::string_view header, size_t data_bytes) {
  const auto entries = parse_safetensors(file_of(header, data_bytes));
  EXPECT_FALSE(entries.ok()) << header;
  return entries.status().message();
}

/// The file is refused in one line that names it and says `reason`, without taking memory for what it only claims.
void expect_refused(std::string_view name, std::string_view reason) {
  const std::string path = case_file(name);
  const int64_t before_kib = peak_memory_kib();
  const Result<SafetensorsFile> file = SafetensorsFile::open(path);
  EXPECT_LT(peak_memory_kib() - before_kib, 64 * 1024);
  ASSERT_FALSE(file.ok()) << path;
  EXPECT_THAT(file.status().message(), StartsWith(path + ": "));
  EXPECT_THAT(file.status().message(), HasSubstr(reason));
  EXPECT_EQ(file.status().message().find('\n'), std::string::npos);
}

std::vector<SafetensorsEntry> accepted(std::string_view name) {
  const Result<SafetensorsFile> file = SafetensorsFile::open(case_file(name));
  EXPECT_TRUE(file.ok()) << file.status();
  if (!file.ok()) return {};
  std::vector<SafetensorsEntry> entries(file->entries().begin(), file->entries().end());
  for (SafetensorsEntry& entry : entries) entry.data = {};  // goes with the file
  return entries;
}

TEST(B13_SafetensorsMalformed, a_HeaderOfHalfTheAddressSpace) {
  expect_refused("a", "a header of 9223372036854775808 bytes");
}
TEST(B13_SafetensorsMalformed, b_HeaderLengthOfAllOnes) {
  expect_refused("b", "a header of 18446744073709551615 bytes");
}
TEST(B13_SafetensorsMalformed, c_HeaderLongerThanTheFile) {
  expect_refused("c", "its header is cut off: 1000000 bytes wanted");
}
TEST(B13_SafetensorsMalformed, d_HeaderAboveTheLimit) {
  expect_refused("d", "a header of 100000001 bytes, but at most 100000000 are allowed");
}
TEST(B13_SafetensorsMalformed, e_OffsetsThatEndBeforeTheyBegin) {
  expect_refused("e", "tensor t: data_offsets [8, 0] end before they begin");
}
TEST(B13_SafetensorsMalformed, f_OffsetsBeyondTheData) {
  expect_refused("f", "tensor t: data_offsets [0, 16] lie beyond the end of the data (8 bytes)");
}
TEST(B13_SafetensorsMalformed, g_ShapeLargerThanItsBytes) {
  expect_refused("g", "tensor t: data_offsets [0, 4] are not the bytes that its shape needs");
}
TEST(B13_SafetensorsMalformed, h_ShapeWhoseProductWrapsToNothing) {
  expect_refused("h", "tensor t: data_offsets [0, 0] are not the bytes that its shape needs");
}
TEST(B13_SafetensorsMalformed, i_NegativeDimension) {
  expect_refused("i", "tensor t: shape has the negative number -1");
}
TEST(B13_SafetensorsMalformed, j_BrokenDimension) {
  expect_refused("j", "tensor t: shape has the number 1.5, which is not whole");
}
TEST(B13_SafetensorsMalformed, k_SevenBytes) {
  expect_refused("k", "shorter than 8 bytes");
}
TEST(B13_SafetensorsMalformed, l_HeaderThatIsAList) {
  expect_refused("l", "its header is not a JSON object");
}
TEST(B13_SafetensorsMalformed, m_HeaderThatBreaksOff) {
  expect_refused("m", "its header is not valid JSON at byte");
}
TEST(B13_SafetensorsMalformed, n_NameThatIsNotUtf8) {
  expect_refused("n", "its header is not valid JSON at byte");
}

TEST(B13_SafetensorsMalformed, GoodFilesAreAccepted) {
  for (const std::string_view name : {"ok_plain", "ok_padded", "ok_extra"}) {
    const auto entries = accepted(name);
    ASSERT_EQ(entries.size(), 1U) << name;
    EXPECT_EQ(entries[0].name, "t");
    EXPECT_EQ(entries[0].type, TensorType::kF32);
    EXPECT_THAT(entries[0].shape, ElementsAre(name == "ok_extra" ? 1 : 2));
  }
  EXPECT_THAT(accepted("ok_scalar").at(0).shape, IsEmpty());
  EXPECT_THAT(accepted("ok_zero").at(0).shape, ElementsAre(0));
  EXPECT_GE(accepted("ok_order").size(), 2U);
}

TEST(SafetensorsParser, HandsOutTensorsInTheOrderOfTheirData) {
  ByteWriter file;
  file.string(R"({"b":{"dtype":"BF16","shape":[2,1],"data_offsets":[4,8]},"__metadata__":{"format":"pt"},)"
              R"("a":{"dtype":"F16","shape":[1,2],"data_offsets":[0,4]}})");
  file.number(uint32_t{1}).number(uint32_t{2});
  const auto entries = parse_safetensors(file.bytes());
  ASSERT_TRUE(entries.ok()) << entries.status();
  ASSERT_EQ(entries->size(), 2U);
  EXPECT_EQ(entries->at(0).name, "a");
  EXPECT_EQ(entries->at(0).type, TensorType::kF16);
  EXPECT_THAT(entries->at(0).shape, ElementsAre(1, 2));
  EXPECT_EQ(std::to_integer<int>(entries->at(0).data[0]), 1);
  EXPECT_EQ(entries->at(1).name, "b");
  EXPECT_EQ(entries->at(1).type, TensorType::kBf16);
  EXPECT_EQ(std::to_integer<int>(entries->at(1).data[0]), 2);
}

TEST(SafetensorsParser, TakesAFileWithoutTensors) {
  EXPECT_TRUE(parse_safetensors(file_of("{}", 0)).ok());
}

TEST(SafetensorsParser, RefusesTypesByName) {
  for (const std::string dtype : {"F8_E4M3", "I32", "F64", "BOOL", "f32"}) {
    EXPECT_THAT(error_of(R"({"t":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,1]}})", 1),
                HasSubstr("tensor t: weights of " + dtype + " are not supported"));
  }
}

TEST(SafetensorsParser, RefusesBytesThatNobodyOrSeveralOwn) {
  EXPECT_THAT(error_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})", 8), HasSubstr("the last 4 bytes"));
  EXPECT_THAT(error_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 8), HasSubstr("before tensor t"));
  EXPECT_THAT(error_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                       R"("u":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                       8),
              HasSubstr("tensor u overlaps another"));
}

TEST(SafetensorsParser, RefusesHeadersThatSayTooLittleOrTooMuch) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({"t":{"shape":[1],"data_offsets":[0,4]}})", "tensor t: it has no dtype"},
      {R"({"t":{"dtype":"F32","data_offsets":[0,4]}})", "tensor t: it has no shape"},
      {R"({"t":{"dtype":"F32","shape":[1]}})", "tensor t: it has no data_offsets"},
      {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0]}})", "data_offsets are not two numbers"},
      {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,2,4]}})", "data_offsets are not two numbers"},
      {R"({"t":{"dtype":"F32","shape":1,"data_offsets":[0,4]}})", "tensor t: shape has a value of the wrong type"},
      {R"({"t":{"dtype":"F32","shape":["1"],"data_offsets":[0,4]}})", "tensor t: shape has a value of the wrong type"},
      {R"({"t":{"dtype":"F32","shape":[[1]],"data_offsets":[0,4]}})", "tensor t: shape is a list of lists"},
      {R"({"t":{"dtype":"F32","shape":[{}],"data_offsets":[0,4]}})", "tensor t: shape has an object"},
      {R"({"t":{"dtype":"F32","shape":null,"data_offsets":[0,4]}})", "tensor t: shape has a value of the wrong type"},
      {R"({"t":{"dtype":["F32"],"shape":[1],"data_offsets":[0,4]}})", "tensor t: dtype is not a string"},
      {R"({"t":{"dtype":1,"shape":[1],"data_offsets":[0,4]}})", "tensor t: dtype has a value of the wrong type"},
      {R"({"t":{"dtype":"F32","dtype":"F16","shape":[1],"data_offsets":[0,4]}})", "tensor t: dtype appears twice"},
      {R"({"t":{"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]}})", "more than 8 numbers"},
      {R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"t":{}})", "tensor t: the name appears twice"},
      {R"({"t":[]})", "tensor t: is not an object"},
      {R"({"t":5})", "tensor t: is not an object"},
      {R"(5)", "its header is not a JSON object"},
      {R"({} {})", "not valid JSON"},
      {"", "not valid JSON"},
      {R"({"t":{"x":)" + std::string(20, '[') + std::string(20, ']') + "}}", "nests deeper than 16 levels"},
  };
  for (const auto& [header, reason] : cases) EXPECT_THAT(error_of(header, 4), HasSubstr(reason)) << header;
}

TEST(SafetensorsParser, DoesNotBuildWhatAnUnknownMemberHolds) {
  const std::string deep = R"({"t":{"x":)" + std::string(10'000'000, '[');
  const int64_t before_kib = peak_memory_kib();
  EXPECT_THAT(error_of(deep, 0), HasSubstr("nests deeper"));
  EXPECT_LT(peak_memory_kib() - before_kib, 64 * 1024);
}

// Each prefix lies in a buffer of exactly its size, so that the address sanitizer sees a read past its end.
TEST(SafetensorsParser, RefusesEveryPrefix) {
  const auto bytes = file_of(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto prefix = std::make_unique<std::byte[]>(size);
    std::copy_n(bytes.begin(), size, prefix.get());
    EXPECT_FALSE(parse_safetensors({prefix.get(), size}).ok()) << size;
  }
  EXPECT_TRUE(parse_safetensors(bytes).ok());
}

TEST(SafetensorsFile, SaysThatAFileIsMissing) {
  const auto file = SafetensorsFile::open("/nonexistent/model.safetensors");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace sluice::engine
