#pragma once

#include <cstddef>

// Whether this build has AddressSanitizer: g++ and clang say so differently.
#if defined(__SANITIZE_ADDRESS__)
#define SLUICE_SIMT_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SLUICE_SIMT_ASAN 1
#endif
#endif

#ifdef SLUICE_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

/// What AddressSanitizer has to be told of memory and stacks that it can't see; nothing without it.
namespace sluice::gpu::simt {

#ifdef SLUICE_SIMT_ASAN
inline void poison(const void* at, size_t bytes) {
  __asan_poison_memory_region(at, bytes);
}
inline void unpoison(const void* at, size_t bytes) {
  __asan_unpoison_memory_region(at, bytes);
}
inline void leave_stack(void** kept, const void* to_bottom, size_t to_bytes) {
  __sanitizer_start_switch_fiber(kept, to_bottom, to_bytes);
}
inline void enter_stack(void* kept, const void** from_bottom, size_t* from_bytes) {
  __sanitizer_finish_switch_fiber(kept, from_bottom, from_bytes);
}
#else
inline void poison(const void* /*at*/, size_t /*bytes*/) {}
inline void unpoison(const void* /*at*/, size_t /*bytes*/) {}
inline void leave_stack(void** /*kept*/, const void* /*to_bottom*/, size_t /*to_bytes*/) {}
inline void enter_stack(void* /*kept*/, const void** /*from_bottom*/, size_t* /*from_bytes*/) {}
#endif

}  // namespace sluice::gpu::simt
