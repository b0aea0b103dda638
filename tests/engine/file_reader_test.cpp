#include "engine/file_reader.h"

#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/counter_random.h"
#include "engine/read_ring.h"
#include "tests/engine/temporary_folder.h"

namespace sluice::engine {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kBytes = 40 * kPage * 17 + 1234;  // several reads of a ring, and no whole page at the end

std::vector<std::byte> random_bytes(int64_t count) {
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(random_bits(1, i) & 0xffU);
  return bytes;
}

/// A file in `folder` that is on a disk and not in the operating system's memory, if that can be had.
std::unique_ptr<MappedFile> file_on_disk(const TemporaryFolder& folder, const std::vector<std::byte>& bytes) {
  const std::string path = folder.write("file", bytes);
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(::fsync(fd.get()), 0);
  EXPECT_EQ(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED), 0);
  return MappedFile::open(path).value();
}

struct Range {
  int64_t offset;
  int64_t bytes;
};

/// Ranges with both ends on and off the pages' boundaries, up to the whole file.
const std::vector<Range> kRanges = {{0, 1},
                                    {0, kPage},
                                    {1, 1},
                                    {kPage - 1, 2},
                                    {kPage, kPage},
                                    {1, 3 * kPage},
                                    {4095, 8193},
                                    {0, kBytes},
                                    {1, kBytes - 1},
                                    {kBytes - 1, 1},
                                    {kPage * 7, 1 << 20},
                                    {kPage * 7 + 5, (1 << 20) + 1},
                                    {5, kBytes - 1234 - 5}};

void expect_reads(FileReader& reader, const MappedFile& file, const std::vector<std::byte>& bytes) {
  for (const auto& [offset, count] : kRanges) {
    SCOPED_TRACE("offset " + std::to_string(offset) + ", " + std::to_string(count) + " bytes");
    // Rooms at any address; what lies behind them is left alone.
    for (const size_t shift : {size_t{0}, size_t{1}, size_t{kPage - 1}}) {
      const auto size = static_cast<size_t>(FileReader::room_for(count));
      std::vector<std::byte> memory(shift + size + 1, std::byte{0xa5});
      const auto read = reader.read(file, offset, count, std::span(memory).subspan(shift, size));
      ASSERT_TRUE(read.ok()) << read.status();
      ASSERT_EQ(read->size(), static_cast<size_t>(count));
      EXPECT_EQ(std::memcmp(read->data(), bytes.data() + offset, read->size()), 0);
      EXPECT_EQ(memory.back(), std::byte{0xa5});
      for (size_t i = 0; i < shift; ++i) ASSERT_EQ(memory[i], std::byte{0xa5});
    }
  }
}

TEST(FileReader, ReadsAnyRangePastTheCache) {
  const TemporaryFolder folder;
  const auto bytes = random_bytes(kBytes);
  const auto file = file_on_disk(folder, bytes);
  FileReader reader({.uses_cache = false, .is_direct = true});
  expect_reads(reader, *file, bytes);
  EXPECT_EQ(reader.counts().cached + reader.counts().mapped, 0);
  // A machine without rings or a file system without direct reads gives the same bytes; there is nothing to count then.
  if (!ReadRing::make() || !file->reopen(O_DIRECT).ok()) GTEST_SKIP() << "no direct reads here";
  EXPECT_GT(reader.counts().direct, 0);
}

TEST(FileReader, ReadsAnyRangeByOrdinaryReads) {
  const TemporaryFolder folder;
  const auto bytes = random_bytes(kBytes);
  const auto file = file_on_disk(folder, bytes);
  FileReader reader({.uses_cache = false, .is_direct = false});
  expect_reads(reader, *file, bytes);
  EXPECT_GT(reader.counts().plain, 0);
  EXPECT_EQ(reader.counts().cached + reader.counts().mapped + reader.counts().direct, 0);
}

TEST(FileReader, CopiesWhatTheSystemHasInItsMemory) {
  const TemporaryFolder folder;
  const auto bytes = random_bytes(kBytes);
  const auto file = MappedFile::open(folder.write("file", bytes)).value();
  // Just written, so it is there; locked, so it stays. Not by mlock(), which sanitizers make do nothing.
  if (::syscall(SYS_mlock, file->bytes().data(), file->bytes().size()) != 0) GTEST_SKIP() << "no memory may be locked";
  FileReader reader;
  expect_reads(reader, *file, bytes);
  EXPECT_GT(reader.counts().cached, 0);
  EXPECT_EQ(reader.counts().plain + reader.counts().mapped + reader.counts().direct, 0);
}

TEST(FileReader, FindsOutByItself) {
  const TemporaryFolder folder;
  const auto bytes = random_bytes(kBytes);
  const auto file = file_on_disk(folder, bytes);
  FileReader reader;
  expect_reads(reader, *file, bytes);
}

TEST(FileReader, ReadsSeveralFilesInTurn) {
  const TemporaryFolder folder;
  const auto one = MappedFile::open(folder.write("one", "first file")).value();
  const auto two = MappedFile::open(folder.write("two", "second file")).value();
  FileReader reader;
  std::vector<std::byte> room(static_cast<size_t>(FileReader::room_for(5)));
  for (const auto& [file, text] : {std::pair(one.get(), "first"), {two.get(), "secon"}, {one.get(), "first"}}) {
    const auto read = reader.read(*file, 0, 5, room);
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(std::string(reinterpret_cast<const char*>(read->data()), read->size()), text);
  }
}

TEST(FileReader, ReadsTheFileThatWasMappedAfterItsReplacement) {
  const TemporaryFolder folder;
  const auto bytes = random_bytes(kBytes);
  const auto file = MappedFile::open(folder.write("file", bytes)).value();
  std::filesystem::rename(folder.write("other", std::vector<std::byte>(kBytes)), folder.path_of("file"));
  FileReader reader;
  expect_reads(reader, *file, bytes);
  EXPECT_GT(reader.counts().mapped, 0);
  EXPECT_EQ(reader.counts().cached + reader.counts().plain + reader.counts().direct, 0);
}

TEST(FileReader, SaysWhereAFileWasCutOff) {
  for (const FileReaderOptions options :
       {FileReaderOptions{.uses_cache = false, .is_direct = true},
        FileReaderOptions{.uses_cache = false, .is_direct = false}, FileReaderOptions{}}) {
    const TemporaryFolder folder;
    const auto file = file_on_disk(folder, random_bytes(kBytes));
    std::filesystem::resize_file(folder.path_of("file"), 2 * kPage + 1);
    FileReader reader(options);
    std::vector<std::byte> room(static_cast<size_t>(FileReader::room_for(kBytes)));
    // One read runs into the end, one begins far behind it.
    for (const int64_t offset : {int64_t{0}, 5 * kPage + 7}) {
      const Status failed = reader.read(*file, offset, kBytes - offset, room).status();
      EXPECT_EQ(failed.code(), StatusCode::kFailedPrecondition);
      EXPECT_EQ(failed.message(), folder.path_of("file") + ": it ends at byte 8193 of the " + std::to_string(kBytes) +
                                      " that it had when it was opened; replace model files by rename");
    }
    EXPECT_TRUE(reader.read(*file, 0, 2 * kPage + 1, room).ok());
    EXPECT_FALSE(reader.read(*file, 0, 2 * kPage + 2, room).ok());
  }
}

TEST(ReadRing, IsNoneWhereTheSystemRefusesOne) {
  EXPECT_FALSE(ReadRing::make(0).has_value());
  EXPECT_FALSE(ReadRing::make(1U << 30U).has_value());
}

TEST(ReadRing, TellsWhatEachReadBrought) {
  auto ring = ReadRing::make(3);
  if (!ring) GTEST_SKIP() << "this system refuses rings";
  const TemporaryFolder folder;
  const FileDescriptor fd(::open(folder.write("file", "0123456789").c_str(), O_RDONLY | O_CLOEXEC));
  std::vector<std::byte> memory(16);
  std::vector<RingRead> reads = {{.to = memory.data(), .offset = 2, .bytes = 3},
                                 {.to = memory.data() + 8, .offset = 8, .bytes = 8},
                                 {.to = nullptr, .offset = 0, .bytes = 8}};
  ring->read(fd.get(), reads);
  EXPECT_EQ(reads[0].done, 3);
  EXPECT_EQ(std::memcmp(memory.data(), "234", 3), 0);
  EXPECT_EQ(reads[1].done, 2);
  EXPECT_EQ(reads[2].done, -EFAULT);
  ring->read(-1, reads);
  for (const RingRead& read : reads) EXPECT_EQ(read.done, -EBADF);
}

}  // namespace
}  // namespace sluice::engine
