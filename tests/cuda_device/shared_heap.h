#pragma once

namespace sluice::gpu {

/// From here on kernels can read and write what this program's `new` gives, so that tests hand them vectors as they do
/// in simulation: it is this machine's memory, pinned and mapped into the device's addresses. Managed memory would do
/// as well but for the pages that go back and forth at each of thousands of launches. CUDA's error, or 0. Called once,
/// while there is one thread.
int use_shared_heap();

}  // namespace sluice::gpu
