#include "engine/mapped_file.h"

#include <filesystem>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/engine/gguf_builder.h"
#include "tests/engine/temporary_folder.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;

TEST(MappedFile, SaysWhyAFileCannotBeMapped) {
  EXPECT_EQ(MappedFile::open("/nonexistent").status().code(), StatusCode::kNotFound);
  EXPECT_THAT(MappedFile::open(::testing::TempDir()).status().message(), HasSubstr("not a regular file"));
  const TemporaryFile empty({});
  EXPECT_THAT(MappedFile::open(empty.path()).status().message(), HasSubstr("empty"));
}

TEST(MappedFile, DoesNotWaitForTheWriterOfAPipe) {
  const std::string path = ::testing::TempDir() + "sluice_mapped_file_pipe_" + std::to_string(::getpid());
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(MappedFile::open(path).status().message(), HasSubstr("not a regular file"));
  std::filesystem::remove(path);
}

TEST(MappedFile, ReadsAgainWhatItDropped) {
  const std::string contents = "weights";
  const TemporaryFile file(std::as_bytes(std::span(contents)));
  const auto mapped = MappedFile::open(file.path());
  ASSERT_TRUE(mapped.ok());
  (*mapped)->drop_pages();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>((*mapped)->bytes().data()), contents.size()), contents);
}

TEST(MappedFile, OutlivesTheDeletionOfTheFile) {
  const std::vector<std::byte> bytes = ByteWriter().raw("hello").bytes();
  std::unique_ptr<MappedFile> file;
  {
    const TemporaryFile temporary(bytes);
    Result<std::unique_ptr<MappedFile>> opened = MappedFile::open(temporary.path());
    ASSERT_TRUE(opened.ok()) << opened.status();
    file = std::move(opened).value();
  }
  EXPECT_EQ(std::vector<std::byte>(file->bytes().begin(), file->bytes().end()), bytes);
}

TEST(MappedFile, IsReopenedOnlyAsItself) {
  const TemporaryFolder folder;
  const auto file = MappedFile::open(folder.write("file", "weights")).value();
  EXPECT_EQ(file->path(), folder.path_of("file"));
  ASSERT_TRUE(file->reopen(0).ok());
  std::filesystem::rename(folder.write("other", "weights"), folder.path_of("file"));
  EXPECT_THAT(file->reopen(0).status().message(), HasSubstr("has been replaced by another file"));
  std::filesystem::remove(folder.path_of("file"));
  EXPECT_EQ(file->reopen(0).status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace sluice::engine
