#include "engine/cpu/gate.h"

#include <climits>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sluice::engine {
namespace {

static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t), "the kernel looks at the bare word");

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  syscall(SYS_futex, &word, operation, value, nullptr, nullptr, 0);
}

}  // namespace

// Sequentially consistent on both sides: either open() sees the sleeper, or the sleeper sees the new count.
void Gate::open() {
  count_.fetch_add(1);
  if (sleepers_.load() > 0) futex(count_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

// Hand-overs inside a step take well under a microsecond; a wait that outlasts some microseconds means that another
// process has a core of ours or that there is nothing to do, and spinning on would take the core from whoever we wait
// for.
bool Gate::opens_soon(uint32_t seen) const {
  constexpr int kSpins = 400;
  for (int spin = 0; spin < kSpins; ++spin) {
    if (count() != seen) return true;
    __builtin_ia32_pause();
  }
  return false;
}

void Gate::sleep(uint32_t seen) {
  sleepers_.fetch_add(1);
  while (count_.load() == seen) futex(count_, FUTEX_WAIT_PRIVATE, seen);
  sleepers_.fetch_sub(1);
}

}  // namespace sluice::engine
