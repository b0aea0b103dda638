#include "engine/cpu/huge_buffer.h"

#include <algorithm>
#include <string>

#include <sys/mman.h>

namespace sluice::engine {

Result<HugeBuffer> HugeBuffer::allocate(size_t bytes, const char* what) {
  const size_t size = std::max<size_t>(bytes, 1);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    return resource_exhausted("no memory for " + std::to_string(bytes) + " bytes of " + what);
  }
  // Only a hint: without huge pages everything still works.
  static_cast<void>(madvise(data, size, MADV_HUGEPAGE));
  return HugeBuffer(data, size);
}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (data_ != nullptr) munmap(data_, size_);
}

}  // namespace sluice::engine
