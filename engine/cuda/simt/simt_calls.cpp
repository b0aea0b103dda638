#include "engine/cuda/simt/simt_calls.h"

#include <string>

#include "engine/cuda/simt/simt_block.h"

// The operations that need no other thread.
namespace sluice::gpu::simt {
namespace {

bool is_aligned(const void* at, size_t alignment) {
  return reinterpret_cast<uintptr_t>(at) % alignment == 0;
}

}  // namespace

Dim3 thread_index() {
  return this_block().position(this_block().thread());
}
Dim3 block_index() {
  return this_block().index();
}
Dim3 block_size() {
  return this_block().size();
}
Dim3 grid_size() {
  return this_block().grid();
}
int32_t thread_number() {
  return static_cast<int32_t>(this_block().thread());
}

void* shared_memory(size_t bytes, size_t alignment) {
  SharedMemory& shared = this_block().shared();
  if (bytes > shared.bytes())
    this_block().fail(
        "shared memory of " + std::to_string(bytes) + " bytes in a launch with " + std::to_string(shared.bytes()), 0);
  if (alignment > kSharedAlignment) this_block().fail("shared memory with an alignment over 128", 0);
  return shared.data();
}

void sync_block(int line) {
  this_block().wait_for_block(line);
}

void check_alignment(const void* at, size_t alignment) {
  if (!is_aligned(at, alignment))
    this_block().fail(
        "an address that is not a multiple of the " + std::to_string(alignment) + " bytes that one instruction moves",
        0);
}

void copy_async(void* shared_to, const void* global_from, int32_t bytes) {
  if (bytes < 0 || bytes > 16) this_block().fail("copy_async of " + std::to_string(bytes) + " bytes", 0);
  if (!is_aligned(shared_to, 16) || !is_aligned(global_from, 16))
    this_block().fail("copy_async with an address that is not a multiple of 16", 0);
  if (!this_block().shared().holds(shared_to, 16)) this_block().fail("copy_async to outside of shared memory", 0);
  if (this_block().shared().holds(global_from, 1)) this_block().fail("copy_async from shared memory", 0);
  // The bytes may come at any time from here to the end of the wait.
  this_block().note_access(shared_to, kCopyBytes, true);
  this_block().copies().add(shared_to, global_from, static_cast<size_t>(bytes));
}

void copy_async_commit() {
  this_block().copies().commit();
}

void copy_async_wait(int32_t groups) {
  Block& block = this_block();
  block.copies().wait(groups, [&block](const void* to) { block.note_access(to, kCopyBytes, true); });
}

void wait_for_previous_kernel() {
  this_block().has_waited_for_previous() = true;
}

void start_next_kernel() {
  if (!this_block().has_waited_for_previous())
    this_block().fail("start_next_kernel before wait_for_previous_kernel: the next would overtake the one before", 0);
}

}  // namespace sluice::gpu::simt
