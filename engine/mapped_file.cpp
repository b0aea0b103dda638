#include "engine/mapped_file.h"

#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::engine {
namespace {

Status system_failure(const std::string& path, int error) {
  const std::string message = path + ": " + std::system_category().message(error);
  return error == ENOENT || error == ENOTDIR ? not_found(message) : failed_precondition(message);
}

Result<FileDescriptor> open_descriptor(const std::string& path, int flags) {
  // Without O_NONBLOCK, opening a pipe would wait for its writer.
  FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (!fd.is_open()) return system_failure(path, errno);
  return fd;
}

}  // namespace

Result<std::unique_ptr<MappedFile>> MappedFile::open(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(const FileDescriptor fd, open_descriptor(path, 0));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_failure(path, errno);
  if (!S_ISREG(info.st_mode)) return failed_precondition(path + ": not a regular file");
  if (info.st_size == 0) return failed_precondition(path + ": the file is empty");

  const auto size = static_cast<size_t>(info.st_size);
  void* const address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
  if (address == MAP_FAILED) return system_failure(path, errno);
  return std::unique_ptr<MappedFile>(
      new MappedFile(path, {info.st_dev, info.st_ino}, {static_cast<const std::byte*>(address), size}));
}

Result<FileDescriptor> MappedFile::reopen(int flags) const {
  SLUICE_ASSIGN_OR_RETURN(FileDescriptor fd, open_descriptor(path_, flags));
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return system_failure(path_, errno);
  if (Identity{info.st_dev, info.st_ino} == identity_) return fd;
  return failed_precondition(path_ + ": it has been replaced by another file");
}

void MappedFile::drop_pages(std::span<const std::byte> part) {
  // The part's first page may be another's last: whoever still wants it reads it again.
  const auto page_bytes = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto before = reinterpret_cast<uintptr_t>(part.data()) % page_bytes;
  // Only a hint; the file's pages stay in the operating system's cache.
  static_cast<void>(::madvise(const_cast<std::byte*>(part.data() - before), part.size() + before, MADV_DONTNEED));
}

MappedFile::~MappedFile() {
  // The address came from mmap; munmap takes it without const.
  ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

}  // namespace sluice::engine
