#pragma once

// g++: a kernel is a function that the simulation calls once per thread. How many threads a block may have, and how
// many blocks there are at once, is the device compiler's business: it decides over registers.
#define GPU_KERNEL(threads_max) inline
#define GPU_KERNEL_RESIDENT(threads_max, blocks) inline
#define GPU_DEVICE inline
#define GPU_BOTH inline
// Unrolling a loop, which makes registers of an array, is that compiler's business too.
#define GPU_UNROLL
