#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace sluice::gpu {
struct Dim3;
struct Launch;
}  // namespace sluice::gpu

/// What the operations of gpu.h come to in the simulation. All but launch_grid are called by a kernel's thread and
/// abort outside of one.
namespace sluice::gpu::simt {

/// Runs `body` once for each thread of each block, one block after the other, on the calling OS thread, or puts that in
/// the stream's queue. `signature` is the __PRETTY_FUNCTION__ of launch, which has the kernel's name.
void launch_grid(const Launch& how, const char* signature, std::function<void()> body);

Dim3 thread_index();
Dim3 block_index();
Dim3 block_size();
Dim3 grid_size();
/// Of the thread within its block, x first.
int32_t thread_number();

void* shared_memory(size_t bytes, size_t alignment);
void sync_block(int line);

enum class Shuffle { kXor, kFrom, kDown, kUp };

void sync_warp(uint32_t mask, int line);
uint64_t shuffle(Shuffle how, uint64_t value, int32_t by, uint32_t mask, int line);
uint32_t ballot(bool claim, uint32_t mask, int line);

void check_alignment(const void* at, size_t alignment);
void copy_async(void* shared_to, const void* global_from, int32_t bytes);
void copy_async_commit();
void copy_async_wait(int32_t groups);

void load_matrices(uint32_t (&to)[4], const void* shared_row, int line);
void load_matrices_transposed(uint32_t (&to)[4], const void* shared_row, int line);
void multiply_add(float (&sum)[4], const uint32_t (&a)[4], const uint32_t (&b)[2], int line);

void wait_for_previous_kernel();
void start_next_kernel();

}  // namespace sluice::gpu::simt
