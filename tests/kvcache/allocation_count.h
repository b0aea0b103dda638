#pragma once

#include <cstdint>

namespace sluice::kvcache {

/// How often this test program has allocated memory through operator new so far.
int64_t allocation_count();

}  // namespace sluice::kvcache
