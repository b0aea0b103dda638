#include "engine/gguf.h"

#include <cstring>
#include <filesystem>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/gguf_parser.h"
#include "tests/engine/gguf_builder.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kF32 = 0;
constexpr uint32_t kQ4_0 = 2;

void expect_refused(const std::vector<std::byte>& bytes, std::string_view reason) {
  const Result<GgufContents> contents = parse_gguf(bytes);
  ASSERT_FALSE(contents.ok()) << "expected: " << reason;
  EXPECT_EQ(contents.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(contents.status().message(), HasSubstr(reason));
}

/// A file with one value of a metadata type; the value's bytes are `value`.
std::vector<std::byte> with_value(uint32_t type, const ByteWriter& value) {
  return GgufBuilder().metadata("k", type, value).build();
}

TEST(GgufFile, SaysThatAFileIsMissing) {
  const Result<GgufFile> file = GgufFile::open("/nonexistent/model.gguf");
  ASSERT_FALSE(file.ok());
  EXPECT_EQ(file.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(file.status().message(), "/nonexistent/model.gguf: No such file or directory");
}

TEST(GgufFile, OpensTheMetadataOfAFileThatEndsBehindThem) {
  std::vector<std::byte> bytes = GgufBuilder().string("general.name", "cut").build();
  const uint64_t tensor_count = 1'000'000;  // none of them there
  std::memcpy(bytes.data() + 8, &tensor_count, sizeof(tensor_count));
  const TemporaryFile file(bytes);
  const Result<GgufFile> metadata = GgufFile::open_metadata(file.path());
  ASSERT_TRUE(metadata.ok()) << metadata.status();
  EXPECT_EQ(*metadata->get_string("general.name"), "cut");
  EXPECT_TRUE(metadata->tensors().empty());
  EXPECT_FALSE(GgufFile::open(file.path()).ok());
}

TEST(GgufFile, ChecksTheMetadataThatItOpensAlone) {
  EXPECT_EQ(GgufFile::open_metadata("/nonexistent/model.gguf").status().code(), StatusCode::kNotFound);
  std::vector<std::byte> bytes = GgufBuilder().string("general.name", "cut").build();
  for (size_t size = 1; size < 24 + 8 + 12 + 4 + 8 + 3; ++size) {
    const TemporaryFile file(std::vector<std::byte>(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)));
    const Result<GgufFile> metadata = GgufFile::open_metadata(file.path());
    ASSERT_FALSE(metadata.ok()) << size;
    EXPECT_THAT(metadata.status().message(), HasSubstr(file.path()));
  }
}

TEST(GgufFile, RefusesAFolder) {
  const Result<GgufFile> file = GgufFile::open(::testing::TempDir());
  ASSERT_FALSE(file.ok());
  EXPECT_THAT(file.status().message(), HasSubstr("not a regular file"));
}

TEST(GgufParser, RefusesWhatIsNotGguf) {
  expect_refused(ByteWriter().raw("PK\x03\x04 some other file").bytes(), "not a GGUF file");
  expect_refused(ByteWriter().raw("GG").bytes(), "not a GGUF file");
}

TEST(GgufParser, AcceptsVersionsTwoAndThreeOnly) {
  expect_refused(GgufBuilder(1).build(), "GGUF version 1 is not supported");
  expect_refused(GgufBuilder(4).build(), "GGUF version 4 is not supported");
  expect_refused(GgufBuilder(0x03000000).build(), "big-endian");
  EXPECT_TRUE(parse_gguf(GgufBuilder(2).build()).ok());
  EXPECT_TRUE(parse_gguf(GgufBuilder(3).build()).ok());
}

TEST(GgufParser, RefusesNestedArrays) {
  const ByteWriter nested =
      ByteWriter().number(uint32_t{9}).number(uint64_t{1}).number(uint32_t{4}).number(uint64_t{0});
  expect_refused(with_value(9, nested), "metadata k: arrays of arrays");
}

TEST(GgufParser, RefusesUnknownValueTypes) {
  expect_refused(with_value(13, ByteWriter().number(uint64_t{0})), "metadata k: the value has the unknown type 13");
  const ByteWriter array = ByteWriter().number(uint32_t{13}).number(uint64_t{0});
  expect_refused(with_value(9, array), "metadata k: array elements have the unknown type 13");
}

TEST(GgufParser, RefusesABoolThatIsNeither) {
  expect_refused(with_value(7, ByteWriter().number(uint8_t{2})), "a bool has the value 2");
}

TEST(GgufParser, RefusesNumbersBeyondInt64) {
  constexpr uint64_t kMax = std::numeric_limits<int64_t>::max();
  expect_refused(with_value(10, ByteWriter().number(kMax + 1)), "9223372036854775808 is too large");
  const ByteWriter array = ByteWriter().number(uint32_t{10}).number(uint64_t{1}).number(kMax + 1);
  expect_refused(with_value(9, array), "9223372036854775808 is too large");
  EXPECT_TRUE(parse_gguf(with_value(10, ByteWriter().number(kMax))).ok());
}

TEST(GgufParser, RefusesRepeatedKeysAndTensors) {
  expect_refused(GgufBuilder().u32("k", 1).u32("k", 1).build(), "metadata k: the key appears twice");
  const std::vector<std::byte> data(4);
  expect_refused(GgufBuilder().tensor("t", {1}, kF32, data).tensor("t", {1}, kF32, data).build(),
                 "tensor t: the name appears twice");
}

TEST(GgufParser, RefusesAnAlignmentThatIsNoPowerOfTwo) {
  expect_refused(GgufBuilder().u32("general.alignment", 0).build(), "general.alignment");
  expect_refused(GgufBuilder().u32("general.alignment", 48).build(), "general.alignment is 48");
  expect_refused(GgufBuilder().string("general.alignment", "32").build(), "general.alignment");
  expect_refused(GgufBuilder().u32("general.alignment", 0x80000000U).build(), "general.alignment");
  EXPECT_TRUE(parse_gguf(GgufBuilder().u32("general.alignment", 0x40000000U).build()).ok());
}

TEST(GgufParser, RefusesUnsupportedWeightsByName) {
  expect_refused(GgufBuilder().tensor_header("blk.0.ffn_down.weight", {256}, 16, 0).data(256).build(),
                 "tensor blk.0.ffn_down.weight: weights of IQ2_XXS are not supported");
  expect_refused(GgufBuilder().tensor_header("t", {256}, 4000, 0).data(256).build(), "weights of type 4000");
}

TEST(GgufParser, RefusesDimensionCountsOutsideOneToFour) {
  expect_refused(GgufBuilder().tensor_header("t", {}, kF32, 0).data(64).build(), "it has 0 dimensions");
  expect_refused(GgufBuilder().tensor_header("t", {1, 1, 1, 1, 1}, kF32, 0).data(64).build(), "it has 5 dimensions");
  EXPECT_TRUE(parse_gguf(GgufBuilder().tensor_header("t", {1, 1, 1, 1}, kF32, 0).data(64).build()).ok());
}

TEST(GgufParser, RefusesShapesThatCannotBe) {
  expect_refused(GgufBuilder().tensor_header("t", {4, 0}, kF32, 0).data(64).build(), "a dimension has the length 0");
  expect_refused(GgufBuilder().tensor_header("t", {uint64_t{1} << 31, uint64_t{1} << 31, 4}, kF32, 0).data(64).build(),
                 "more bytes than the file has");
  expect_refused(GgufBuilder().tensor_header("t", {48, 2}, kQ4_0, 0).data(64).build(),
                 "rows of 48 elements do not divide into Q4_0 blocks of 32");
  expect_refused(GgufBuilder().tensor_header("t", {31, 2}, 6, 0).data(64).build(),
                 "rows of 31 elements do not divide into Q5_0 blocks of 32");
  expect_refused(GgufBuilder().tensor_header("t", {33, 2}, 7, 0).data(64).build(),
                 "rows of 33 elements do not divide into Q5_1 blocks of 32");
  expect_refused(GgufBuilder().tensor_header("t", {288, 2}, 12, 0).data(512).build(),
                 "rows of 288 elements do not divide into Q4_K blocks of 256");
}

TEST(GgufParser, AcceptsATensorUpToTheLastByteAndNotBeyond) {
  EXPECT_TRUE(parse_gguf(GgufBuilder().tensor_header("t", {16}, kF32, 0).data(64).build()).ok());
  expect_refused(GgufBuilder().tensor_header("t", {16}, kF32, 0).data(63).build(),
                 "tensor t: its 64 bytes at offset 0 lie beyond");
  EXPECT_TRUE(parse_gguf(GgufBuilder().tensor_header("t", {64}, 6, 0).data(44).build()).ok());
  expect_refused(GgufBuilder().tensor_header("t", {64}, 6, 0).data(43).build(),
                 "tensor t: its 44 bytes at offset 0 lie beyond");
  // The type with the most elements in a byte.
  EXPECT_TRUE(parse_gguf(GgufBuilder().tensor_header("t", {1 << 16}, 10, 0).data(21504).build()).ok());
  expect_refused(GgufBuilder().tensor_header("t", {1 << 16}, 10, 0).data(21503).build(),
                 "tensor t: its 21504 bytes at offset 0 lie beyond");
  expect_refused(GgufBuilder().tensor_header("t", {16}, kF32, uint64_t{0} - 32).data(64).build(), "lie beyond");
}

TEST(GgufParser, RefusesMisplacedTensors) {
  expect_refused(GgufBuilder().tensor_header("t", {1}, kF32, 16).data(64).build(), "offset 16 is not a multiple of 32");
  expect_refused(GgufBuilder().tensor_header("a", {16}, kF32, 0).tensor_header("b", {1}, kF32, 32).data(64).build(),
                 "tensors a and b overlap");
}

TEST(GgufParser, HonoursTheFilesAlignment) {
  std::vector<std::byte> bytes =
      GgufBuilder().u32("general.alignment", 128).tensor_header("t", {1}, kF32, 128).data(132).build(128);
  bytes[bytes.size() - 4] = std::byte{0x7f};
  const Result<GgufContents> contents = parse_gguf(bytes);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->tensors[0].data.front(), std::byte{0x7f});
}

TEST(GgufParser, NamesInMessagesStayOnOneShortLine) {
  const std::string name = "evil\n\xff" + std::string(1000, 'x');
  const Result<GgufContents> contents = parse_gguf(GgufBuilder().tensor_header(name, {0}, kF32, 0).build());
  ASSERT_FALSE(contents.ok());
  EXPECT_THAT(contents.status().message(), HasSubstr("tensor evil??xxx"));
  EXPECT_LT(contents.status().message().size(), 200U);
}

TEST(GgufFile, OpensAVocabularyWithoutTensors) {
  const TemporaryFile temporary(GgufBuilder().strings("tokenizer.ggml.tokens", {"a", "", "bc"}).build());
  const Result<GgufFile> file = GgufFile::open(temporary.path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_TRUE(file->tensors().empty());
  const auto* array = std::get_if<GgufArray>(file->find("tokenizer.ggml.tokens"));
  ASSERT_NE(array, nullptr);
  EXPECT_EQ(std::get<std::vector<std::string_view>>(*array), (std::vector<std::string_view>{"a", "", "bc"}));
}

TEST(GgufFile, ReadsEveryScalarType) {
  GgufBuilder builder;
  builder.metadata("u8", 0, ByteWriter().number(uint8_t{255})).metadata("i8", 1, ByteWriter().number(int8_t{-1}));
  builder.metadata("u16", 2, ByteWriter().number(uint16_t{65535})).metadata("i16", 3, ByteWriter().number(int16_t{-2}));
  builder.u32("u32", 4294967295U).metadata("i32", 5, ByteWriter().number(int32_t{-3}));
  builder.metadata("u64", 10, ByteWriter().number(uint64_t{7})).metadata("i64", 11, ByteWriter().number(int64_t{-4}));
  builder.f32("f32", 0.5F).metadata("f64", 12, ByteWriter().number(0.25));
  const TemporaryFile temporary(builder.build());
  const Result<GgufFile> file = GgufFile::open(temporary.path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*file->get_int("u8"), 255);
  EXPECT_EQ(*file->get_int("i8"), -1);
  EXPECT_EQ(*file->get_int("u16"), 65535);
  EXPECT_EQ(*file->get_int("i16"), -2);
  EXPECT_EQ(*file->get_int("u32"), 4294967295);
  EXPECT_EQ(*file->get_int("i32"), -3);
  EXPECT_EQ(*file->get_int("u64"), 7);
  EXPECT_EQ(*file->get_int("i64"), -4);
  EXPECT_EQ(*file->get_float("f32"), 0.5);
  EXPECT_EQ(*file->get_float("f64"), 0.25);
}

TEST(GgufFile, WidensArrays) {
  GgufBuilder builder;
  builder.metadata("ints", 9,
                   ByteWriter().number(uint32_t{1}).number(uint64_t{2}).number(int8_t{-1}).number(int8_t{3}));
  builder.metadata("floats", 9, ByteWriter().number(uint32_t{6}).number(uint64_t{1}).number(0.5F));
  const std::vector<std::byte> bytes = builder.build();
  const Result<GgufContents> contents = parse_gguf(bytes);
  ASSERT_TRUE(contents.ok()) << contents.status();
  EXPECT_EQ(contents->metadata.at("ints"), GgufValue(GgufArray(std::vector<int64_t>{-1, 3})));
  EXPECT_EQ(contents->metadata.at("floats"), GgufValue(GgufArray(std::vector<double>{0.5})));
}

TEST(GgufFile, GettersNameFileAndKey) {
  const TemporaryFile temporary(GgufBuilder().u32("n", 3).boolean("b", true).string("s", "x").build());
  const Result<GgufFile> file = GgufFile::open(temporary.path());
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(file->get_int("m").status().message(), temporary.path() + ": metadata m is missing");
  EXPECT_EQ(file->get_int("s").status().message(), temporary.path() + ": metadata s is not a whole number");
  EXPECT_EQ(file->get_bool_or("n", false).status().message(), temporary.path() + ": metadata n is not a bool");
  EXPECT_EQ(*file->get_int_or("m", 9), 9);
  EXPECT_EQ(*file->get_float_or("m", 1.5), 1.5);
  EXPECT_EQ(*file->get_bool_or("b", false), true);
  EXPECT_EQ(*file->get_string("s"), "x");
}

TEST(GgufFile, FindsTensorsAfterAMove) {
  Result<GgufFile> opened = GgufFile::open(gguf_test_file("T_base"));
  ASSERT_TRUE(opened.ok()) << opened.status();
  const GgufFile file = std::move(opened).value();
  const StoredTensor* tensor = file.find_tensor("blk.1.ffn_down.weight");
  ASSERT_NE(tensor, nullptr);
  EXPECT_EQ(tensor->shape, (std::vector<int64_t>{48, 32}));
  EXPECT_EQ(tensor->row_length(), 48);
  EXPECT_EQ(tensor->row_count(), 32);
  EXPECT_EQ(tensor->data.size(), 48U * 32 * 4);
  EXPECT_EQ(file.find_tensor("blk.2.ffn_down.weight"), nullptr);
}

}  // namespace
}  // namespace sluice::engine
