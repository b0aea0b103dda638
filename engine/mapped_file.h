#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/status.h"
#include "engine/file_descriptor.h"

namespace sluice::engine {

/// A regular file mapped read-only into memory; pages are read when first touched.
/// Thread-safe. The mapping outlives a deletion or replacement of the file, but nobody is protected from a file that is
/// truncated in place while it is mapped: touching the lost pages then ends the process (SIGBUS). Replace model files
/// by rename.
class MappedFile {
 public:
  /// NOT_FOUND when there is no such file, otherwise FAILED_PRECONDITION: no permission, a folder or device, empty.
  static Result<std::unique_ptr<MappedFile>> open(const std::string& path);

  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  /// Never empty; begins at a page boundary.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// The file itself once more, to be read without the mapping; `flags` are open()'s besides O_RDONLY. An error names
  /// the path: it leads to another file by now, or the system refuses the flags.
  Result<FileDescriptor> reopen(int flags) const;

  /// Gives back the memory of what was read so far; whoever looks again reads it again.
  void drop_pages() const { drop_pages(bytes_); }
  /// The same of a part of any mapped file.
  static void drop_pages(std::span<const std::byte> part);

 private:
  /// What tells a file from all others.
  struct Identity {
    uint64_t device = 0;
    uint64_t inode = 0;

    friend bool operator==(const Identity&, const Identity&) = default;
  };

  MappedFile(std::string path, Identity identity, std::span<const std::byte> bytes)
      : path_(std::move(path)), identity_(identity), bytes_(bytes) {}

  const std::string path_;
  const Identity identity_;
  const std::span<const std::byte> bytes_;
};

}  // namespace sluice::engine
