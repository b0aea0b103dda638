#include "engine/file_reader.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/check.h"

namespace sluice::engine {
namespace {

constexpr int64_t kRingReadBytes = int64_t{1} << 20;

constexpr int64_t align_down(int64_t value, int64_t alignment) {
  return value / alignment * alignment;
}

constexpr int64_t align_up(int64_t value, int64_t alignment) {
  return align_down(value + alignment - 1, alignment);
}

/// The first of a room's bytes at a multiple of `alignment`.
std::byte* aligned(std::span<std::byte> room, int64_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(room.data());
  const auto past = static_cast<int64_t>(address % static_cast<uintptr_t>(alignment));
  return room.data() + (past == 0 ? 0 : alignment - past);
}

/// Whether the operating system has at least half of the range in its memory. It says so of all files that this user
/// neither owns nor may write; those are then read by way of that memory, as ordinary reads do.
bool is_cached(const MappedFile& file, int64_t offset, int64_t bytes) {
  const int64_t page = ::sysconf(_SC_PAGESIZE);
  const int64_t begin = align_down(offset, page);
  std::vector<unsigned char> pages(static_cast<size_t>(align_up(offset + bytes - begin, page) / page));
  void* const address = const_cast<std::byte*>(file.bytes().data() + begin);
  if (::mincore(address, static_cast<size_t>(offset + bytes - begin), pages.data()) != 0) return false;
  const auto resident = std::ranges::count_if(pages, [](unsigned char state) { return (state & 1U) != 0; });
  return 2 * static_cast<size_t>(resident) >= pages.size();
}

/// Where a file ends of which no byte was left at `offset`: it may have ended before.
int64_t end_of_file(const FileDescriptor& file, int64_t offset) {
  struct stat state = {};
  return ::fstat(file.get(), &state) == 0 ? std::min<int64_t>(state.st_size, offset) : offset;
}

/// Bytes that a read has brought of those wanted; the others are to be read otherwise.
int64_t brought(const RingRead& read, int64_t wanted) {
  return std::clamp<int64_t>(read.done, 0, wanted);
}

}  // namespace

FileReader::FileReader(FileReaderOptions options) : options_(options) {
  if (options.is_direct) ring_ = ReadRing::make();
}

void FileReader::open(const MappedFile& file) {
  if (file_ == &file) return;
  const auto reopened = [&file](int flags) {
    Result<FileDescriptor> opened = file.reopen(flags);
    return opened.ok() ? std::move(opened).value() : FileDescriptor();
  };
  plain_ = reopened(0);
  direct_ = ring_ ? reopened(O_DIRECT) : FileDescriptor();
  file_ = &file;
}

Result<std::span<const std::byte>> FileReader::read(const MappedFile& file, int64_t offset, int64_t bytes,
                                                    std::span<std::byte> room) {
  SLUICE_CHECK(offset >= 0 && bytes > 0 && offset + bytes <= static_cast<int64_t>(file.bytes().size()));
  SLUICE_CHECK(static_cast<int64_t>(room.size()) >= room_for(bytes));
  open(file);
  const std::span<std::byte> to(aligned(room, kAlignment) + offset % kAlignment, static_cast<size_t>(bytes));
  if (!plain_.is_open()) {
    // The mapping outlives its path.
    std::memcpy(to.data(), file.bytes().data() + offset, to.size());
    counts_.mapped += bytes;
  } else if (options_.uses_cache && is_cached(file, offset, bytes)) {
    SLUICE_RETURN_IF_ERROR(read_plainly(offset, to));
    counts_.cached += bytes;
  } else if (direct_.is_open()) {
    SLUICE_RETURN_IF_ERROR(read_directly(offset, to));
  } else {
    SLUICE_RETURN_IF_ERROR(read_plainly(offset, to));
    counts_.plain += bytes;
  }
  return std::span<const std::byte>(to);
}

// Reads whole aligned pieces around the range, for which there is room. Where one brings too little - the file system
// doesn't do it after all, the disk fails, the file is shorter - an ordinary read brings the rest or says why not.
Status FileReader::read_directly(int64_t offset, std::span<std::byte> to) {
  const int64_t wanted_end = offset + static_cast<int64_t>(to.size());
  const int64_t end = align_up(wanted_end, kAlignment);
  const int64_t begin = align_down(offset, kAlignment);
  std::byte* const room = to.data() - (offset - begin);
  int64_t at = begin;
  while (at < end) {
    std::array<RingRead, ReadRing::kDepth> reads;
    size_t count = 0;
    for (; count < reads.size() && at < end; at += kRingReadBytes, ++count) {
      reads[count] = {
          .to = room + (at - begin), .offset = at, .bytes = static_cast<uint32_t>(std::min(kRingReadBytes, end - at))};
    }
    ring_->read(direct_.get(), std::span(reads).first(count));
    for (const RingRead& read : std::span(reads).first(count)) {
      const int64_t wanted = std::min<int64_t>(read.bytes, wanted_end - read.offset);
      const int64_t done = brought(read, wanted);
      counts_.direct += done;
      counts_.plain += wanted - done;
      SLUICE_RETURN_IF_ERROR(read_plainly(read.offset + done, {read.to + done, static_cast<size_t>(wanted - done)}));
    }
  }
  return {};
}

Status FileReader::read_plainly(int64_t offset, std::span<std::byte> to) const {
  while (!to.empty()) {
    const ssize_t got = ::pread(plain_.get(), to.data(), to.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed_precondition(file_->path() + ": " + std::system_category().message(errno));
    if (got == 0) {
      return failed_precondition(file_->path() + ": it ends at byte " + std::to_string(end_of_file(plain_, offset)) +
                                 " of the " + std::to_string(file_->bytes().size()) +
                                 " that it had when it was opened; replace model files by rename");
    }
    offset += got;
    to = to.subspan(static_cast<size_t>(got));
  }
  return {};
}

}  // namespace sluice::engine
