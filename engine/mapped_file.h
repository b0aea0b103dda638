#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"

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

  /// Never empty; begins at a page boundary.
  std::span<const std::byte> bytes() const { return bytes_; }

  /// Gives back the memory of what was read so far; whoever looks again reads it again.
  void drop_pages() const { drop_pages(bytes_); }
  /// The same of a part of any mapped file.
  static void drop_pages(std::span<const std::byte> part);

 private:
  explicit MappedFile(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::span<const std::byte> bytes_;
};

}  // namespace sluice::engine
