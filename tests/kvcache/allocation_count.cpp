#include "tests/kvcache/allocation_count.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace sluice::kvcache {
namespace {

std::atomic<int64_t> count = 0;

}  // namespace

int64_t allocation_count() {
  return count.load();
}

}  // namespace sluice::kvcache

// The other forms, but for the aligned ones, end in these. The one that doesn't throw would end in the first by itself,
// but for a sanitizer's.
void* operator new(std::size_t size) {
  ++sluice::kvcache::count;
  if (void* const memory = std::malloc(size == 0 ? 1 : size)) return memory;
  throw std::bad_alloc();
}

void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  ++sluice::kvcache::count;
  return std::malloc(size == 0 ? 1 : size);
}

void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  std::free(memory);
}
