#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/status.h"
#include "engine/file_descriptor.h"
#include "engine/mapped_file.h"
#include "engine/read_ring.h"

namespace sluice::engine {

struct FileReaderOptions {
  /// What the operating system has of a file in its memory is copied from there.
  bool uses_cache = true;
  /// The rest is read past that memory, many reads at a time, where system and file allow it; else by ordinary reads.
  bool is_direct = true;
};

/// Bytes by the way they came.
struct FileReadCounts {
  int64_t cached = 0;  ///< of ranges that the operating system had in its memory, by half at least
  int64_t direct = 0;
  int64_t plain = 0;
  int64_t mapped = 0;  ///< of files whose paths lead to other ones by now
};

/// Reads ranges of mapped files into memory as fast as the disk goes, without touching the mapping: a fault for every
/// few pages takes longer than the disk does. Keeps the file of its last read open. The files outlive it. One thread;
/// there may be several readers.
class FileReader {
 public:
  explicit FileReader(FileReaderOptions options = {});

  /// Bytes of memory that read() takes for a range of so many.
  static constexpr int64_t room_for(int64_t bytes) { return bytes + 3 * kAlignment; }

  /// Bytes [offset, offset + bytes) of the file, which its mapping has, in some part of `room`; the rest of it may be
  /// written over. FAILED_PRECONDITION names the file: it has been cut off since it was mapped, or the disk fails.
  Result<std::span<const std::byte>> read(const MappedFile& file, int64_t offset, int64_t bytes,
                                          std::span<std::byte> room);

  const FileReadCounts& counts() const { return counts_; }

 private:
  /// What direct reads want of offsets, sizes and memory; disks ask for this or a divisor.
  static constexpr int64_t kAlignment = 4096;

  void open(const MappedFile& file);
  Status read_directly(int64_t offset, std::span<std::byte> to);
  Status read_plainly(int64_t offset, std::span<std::byte> to) const;

  const FileReaderOptions options_;
  std::optional<ReadRing> ring_;
  const MappedFile* file_ = nullptr;  ///< of the last read
  FileDescriptor plain_;              ///< of that file; closed when its path leads elsewhere
  FileDescriptor direct_;             ///< the same; closed where direct reads can't be had
  FileReadCounts counts_;
};

}  // namespace sluice::engine
