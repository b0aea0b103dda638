#include <cstddef>
#include <cstdint>

#include "engine/cuda/simt/simt_races.h"

// What g++ has a file call that is compiled, but not linked, with -fsanitize=thread: here its reads and writes of
// shared memory go to the block's RaceDetector. A program in which nothing is compiled so doesn't get this file linked
// in, and one that is linked with -fsanitize=thread has ThreadSanitizer's own.
//
// Inline functions that this file calls may themselves be compiled so: nothing is called for memory that isn't shared.
namespace {

void note(const void* at, size_t bytes, bool writes) {
  const sluice::gpu::simt::WatchedShared& watched = sluice::gpu::simt::watched_shared;
  if (reinterpret_cast<uintptr_t>(at) - watched.begin >= watched.bytes) return;
  sluice::gpu::simt::note_shared_access(at, bytes, writes);
}

}  // namespace

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void* /*caller*/) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void** /*at*/, void* /*value*/) {}
void __tsan_vptr_read(void** /*at*/) {}

void __tsan_read1(void* at) {
  note(at, 1, false);
}
void __tsan_read2(void* at) {
  note(at, 2, false);
}
void __tsan_read4(void* at) {
  note(at, 4, false);
}
void __tsan_read8(void* at) {
  note(at, 8, false);
}
void __tsan_read16(void* at) {
  note(at, 16, false);
}
void __tsan_unaligned_read2(void* at) {
  note(at, 2, false);
}
void __tsan_unaligned_read4(void* at) {
  note(at, 4, false);
}
void __tsan_unaligned_read8(void* at) {
  note(at, 8, false);
}
void __tsan_unaligned_read16(void* at) {
  note(at, 16, false);
}
void __tsan_read_range(void* at, size_t bytes) {
  note(at, bytes, false);
}
void __tsan_write1(void* at) {
  note(at, 1, true);
}
void __tsan_write2(void* at) {
  note(at, 2, true);
}
void __tsan_write4(void* at) {
  note(at, 4, true);
}
void __tsan_write8(void* at) {
  note(at, 8, true);
}
void __tsan_write16(void* at) {
  note(at, 16, true);
}
void __tsan_unaligned_write2(void* at) {
  note(at, 2, true);
}
void __tsan_unaligned_write4(void* at) {
  note(at, 4, true);
}
void __tsan_unaligned_write8(void* at) {
  note(at, 8, true);
}
void __tsan_unaligned_write16(void* at) {
  note(at, 16, true);
}
void __tsan_write_range(void* at, size_t bytes) {
  note(at, bytes, true);
}

// The standard library's own counters.
uint8_t __tsan_atomic8_load(const volatile void* at, int /*order*/) {
  return __atomic_load_n(static_cast<const volatile uint8_t*>(at), __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_load(const volatile void* at, int /*order*/) {
  return __atomic_load_n(static_cast<const volatile uint32_t*>(at), __ATOMIC_SEQ_CST);
}
uint64_t __tsan_atomic64_load(const volatile void* at, int /*order*/) {
  return __atomic_load_n(static_cast<const volatile uint64_t*>(at), __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_fetch_add(volatile void* at, uint32_t value, int /*order*/) {
  return __atomic_fetch_add(static_cast<volatile uint32_t*>(at), value, __ATOMIC_SEQ_CST);
}
uint32_t __tsan_atomic32_fetch_sub(volatile void* at, uint32_t value, int /*order*/) {
  return __atomic_fetch_sub(static_cast<volatile uint32_t*>(at), value, __ATOMIC_SEQ_CST);
}

}  // extern "C"
