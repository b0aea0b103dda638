#include "engine/gguf_parts.h"

#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/gguf_builder.h"
#include "tests/engine/temporary_folder.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kF32 = 0;

/// Three parts, each with one tensor of one number: t1, t2, t3.
class SplitGguf : public ::testing::Test {
 protected:
  struct Part {
    uint32_t number = 0;
    uint32_t count = 3;
    std::string tensor;
  };

  static GgufBuilder builder_of(const Part& part) {
    GgufBuilder builder;
    builder.u32("split.no", part.number).u32("split.count", part.count).u32("split.tensors.count", 3);
    return builder;
  }

  std::string write(const std::string& name, const Part& part) {
    GgufBuilder builder = builder_of(part);
    if (part.number == 0) builder.string("general.name", "whole");
    const float value = static_cast<float>(part.number);
    builder.tensor(part.tensor, {1}, kF32, std::as_bytes(std::span(&value, 1)));
    return folder_.write(name, builder.build());
  }

  void write_all() {
    write("m-00001-of-00003.gguf", {.number = 0, .tensor = "t1"});
    write("m-00002-of-00003.gguf", {.number = 1, .tensor = "t2"});
    write("m-00003-of-00003.gguf", {.number = 2, .tensor = "t3"});
  }

  std::string error(const std::string& name) {
    const auto file = GgufFile::open(folder_.path_of(name));
    EXPECT_FALSE(file.ok());
    return file.status().message();
  }

  TemporaryFolder folder_;
};

TEST_F(SplitGguf, OpensAllPartsByAnyOfThem) {
  write_all();
  for (const std::string name : {"m-00001-of-00003.gguf", "m-00002-of-00003.gguf", "m-00003-of-00003.gguf"}) {
    const auto file = GgufFile::open(folder_.path_of(name));
    ASSERT_TRUE(file.ok()) << file.status();
    EXPECT_EQ(file->get_string("general.name").value(), "whole");
    ASSERT_EQ(file->tensors().size(), 3U);
    for (size_t i = 0; i < 3; ++i) {
      const auto* tensor = file->find_tensor("t" + std::to_string(i + 1));
      ASSERT_NE(tensor, nullptr);
      EXPECT_EQ(tensor, &file->tensors()[i]);
      float value = -1;
      std::memcpy(&value, tensor->data.data(), sizeof(value));
      EXPECT_EQ(value, static_cast<float>(i));
    }
    file->drop_pages();
  }
}

TEST_F(SplitGguf, NamesAMissingPart) {
  write_all();
  std::filesystem::remove(folder_.path_of("m-00002-of-00003.gguf"));
  EXPECT_EQ(error("m-00001-of-00003.gguf"),
            folder_.path_of("m-00002-of-00003.gguf") + ": this part of a split model is missing");
}

TEST_F(SplitGguf, RefusesAPartUnderAnotherPartsName) {
  write_all();
  write("m-00002-of-00003.gguf", {.number = 2, .tensor = "t2"});
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("m-00002-of-00003.gguf: it is part 3 of 3 by its metadata"));
  EXPECT_THAT(error("m-00002-of-00003.gguf"), HasSubstr("so its name must end in -00003-of-00003.gguf"));
}

TEST_F(SplitGguf, RefusesAPartOfAnotherSplit) {
  write_all();
  write("m-00003-of-00003.gguf", {.number = 2, .count = 4, .tensor = "t3"});
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("m-00003-of-00003.gguf: it is part 3 of 4 by its metadata"));
}

TEST_F(SplitGguf, RefusesAPartWithoutItsNumbers) {
  write_all();
  write("model.gguf", {.number = 1, .tensor = "t1"});
  EXPECT_THAT(error("model.gguf"), HasSubstr("part 2 of 3 by its metadata, so its name must end in -00002-of-00003"));
}

TEST_F(SplitGguf, NamesATensorThatTwoPartsHave) {
  write_all();
  write("m-00003-of-00003.gguf", {.number = 2, .tensor = "t1"});
  EXPECT_THAT(error("m-00001-of-00003.gguf"),
              HasSubstr("m-00003-of-00003.gguf: tensor t1 is in " + folder_.path_of("m-00001-of-00003.gguf") + " too"));
}

TEST_F(SplitGguf, CountsTheTensors) {
  write_all();
  folder_.write("m-00003-of-00003.gguf", builder_of({.number = 2, .tensor = ""}).build());
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("split.tensors.count is 3, but the parts have 2 tensors"));
}

TEST_F(SplitGguf, RefusesNumbersThatMakeNoSense) {
  write("m-00001-of-00003.gguf", {.number = 3, .tensor = "t"});
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("split.no is 3, but there are 3 parts"));
  write("m-00001-of-00003.gguf", {.number = 0, .count = 4097, .tensor = "t"});
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("split.count is 4097, but at most 4096"));
  folder_.write("m-00001-of-00003.gguf", GgufBuilder().string("split.count", "3").build());
  EXPECT_THAT(error("m-00001-of-00003.gguf"), HasSubstr("split.count is not a whole number"));
}

TEST_F(SplitGguf, TakesASplitIntoOne) {
  write("model.gguf", {.number = 0, .count = 1, .tensor = "t"});
  EXPECT_TRUE(GgufFile::open(folder_.path_of("model.gguf")).ok());
}

}  // namespace
}  // namespace sluice::engine
