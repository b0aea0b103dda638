#include "engine/cuda/simt/simt_fiber.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <unistd.h>

#include "base/check.h"

// void sluice_simt_switch(void** left, void* to): keeps the registers that a call keeps on the stack it leaves, stores
// that stack's pointer, and goes on where the other stack was left.
asm(R"(
.text
.globl sluice_simt_switch
.hidden sluice_simt_switch
.type sluice_simt_switch, @function
sluice_simt_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
.size sluice_simt_switch, . - sluice_simt_switch

.globl sluice_simt_start
.hidden sluice_simt_start
.type sluice_simt_start, @function
sluice_simt_start:
  movq %r12, %rdi
  call *%rbx
  ud2
.size sluice_simt_start, . - sluice_simt_start
)");

extern "C" void sluice_simt_switch(void** left, void* to);
extern "C" void sluice_simt_start();

namespace sluice::gpu::simt {
namespace {

// Mapped only where it is touched. A sanitizer's frames are several times as large as those of a release build.
constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kGuardBytes = 4096;

}  // namespace

FiberStacks::FiberStacks(size_t count)
    : mapped_bytes_(count * (kStackBytes + kGuardBytes)),
      mapped_(static_cast<std::byte*>(
          mmap(nullptr, mapped_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  SLUICE_CHECK(static_cast<void*>(mapped_) != MAP_FAILED);
}

FiberStacks::~FiberStacks() {
  munmap(mapped_, mapped_bytes_);
}

std::byte* FiberStacks::bottom(size_t index) {
  const auto guard = [&](size_t of) { return mapped_ + of * (kStackBytes + kGuardBytes); };
  for (; guarded_count_ <= index; ++guarded_count_)
    SLUICE_CHECK(mprotect(guard(guarded_count_), kGuardBytes, PROT_NONE) == 0);
  return guard(index) + kGuardBytes;
}

size_t FiberStacks::bytes() {
  return kStackBytes;
}

// It is dropped in the middle of its function, which would have unpoisoned its frame at its end.
Fiber::~Fiber() {
  if (bottom_ == nullptr) return;
  auto* const begin = static_cast<std::byte*>(own_stack_pointer_);
  unpoison(begin, static_cast<size_t>(bottom_ + kStackBytes - begin));
}

void Fiber::prepare(std::byte* bottom, Function function, void* argument) {
  function_ = function;
  argument_ = argument;
  bottom_ = bottom;
  own_.emplace(bottom, kStackBytes);
  // The stack as sluice_simt_switch would have left it: r15, r14, r13, r12, rbx, rbp, the address to go on at; and two
  // words more, so that the stack is aligned as at a call. A frame pointer of 0 is where a backtrace ends.
  const uint64_t left[9] = {0,
                            0,
                            0,
                            reinterpret_cast<uint64_t>(this),
                            reinterpret_cast<uint64_t>(&Fiber::enter),
                            0,
                            reinterpret_cast<uint64_t>(&sluice_simt_start),
                            0,
                            0};
  own_stack_pointer_ = bottom + kStackBytes - sizeof(left);
  std::memcpy(own_stack_pointer_, left, sizeof(left));
}

void Fiber::resume() {
  outer_.leave_for(*own_);
  sluice_simt_switch(&outer_stack_pointer_, own_stack_pointer_);
  outer_.enter_from(*own_);
}

void Fiber::yield() {
  own_->leave_for(outer_);
  sluice_simt_switch(&own_stack_pointer_, outer_stack_pointer_);
  own_->enter_from(outer_);
}

void Fiber::enter(Fiber* self) {
  self->own_->enter_from(self->outer_);
  self->function_(self->argument_);
  std::abort();
}

}  // namespace sluice::gpu::simt
