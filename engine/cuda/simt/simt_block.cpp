#include "engine/cuda/simt/simt_block.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/check.h"

namespace sluice::gpu::simt {
namespace {

// A kernel's operations have no argument that could carry it.
thread_local Block* block_of_this_thread = nullptr;

std::string to_text(Dim3 at) {
  return "(" + std::to_string(at.x) + ", " + std::to_string(at.y) + ", " + std::to_string(at.z) + ")";
}

size_t count(Dim3 of) {
  return size_t{of.x} * of.y * of.z;
}

Dim3 position_of(size_t thread, Dim3 block) {
  const auto number = static_cast<uint32_t>(thread);
  return {number % block.x, number / block.x % block.y, number / block.x / block.y};
}

size_t lowest(uint32_t lanes) {
  return static_cast<size_t>(std::countr_zero(lanes));
}

size_t highest(uint32_t lanes) {
  return static_cast<size_t>(std::bit_width(lanes)) - 1;
}

}  // namespace

Block& this_block() {
  SLUICE_CHECK(block_of_this_thread != nullptr && "an operation of gpu.h outside of a kernel");
  return *block_of_this_thread;
}

void note_shared_access(const void* at, size_t bytes, bool writes) {
  this_block().note_access(at, bytes, writes);
}

Block::Block(const Launch& how, std::string kernel, const std::function<void()>& body, FiberStacks& stacks)
    : grid_(how.grid),
      size_(how.block),
      kernel_(std::move(kernel)),
      body_(body),
      overlaps_previous_(how.overlaps_previous),
      shared_(how.shared_bytes),
      races_(how.shared_bytes, count(how.block)),
      threads_(count(how.block)),
      lanes_in_call_((threads_.size() + kWarpSize - 1) / kWarpSize),
      absent_lanes_(lanes_in_call_.size()) {
  for (size_t i = 0; i < threads_.size(); ++i) {
    threads_[i].block = this;
    threads_[i].position = position_of(i, size_);
    threads_[i].fiber.prepare(stacks.bottom(i), &Block::live, &threads_[i]);
  }
}

void Block::run(Dim3 index, OrderSource& order) {
  SLUICE_CHECK(block_of_this_thread == nullptr && "a launch inside of a kernel");
  block_of_this_thread = this;
  watched_shared = {.begin = reinterpret_cast<uintptr_t>(shared_.data()), .bytes = shared_.bytes()};
  start(index);
  while (live_count_ > 0) {
    const std::vector<size_t> warps = order.sequence(lanes_in_call_.size());
    for (const size_t warp : warps) run_warp(warp, order);
    open_barrier();
  }
  check_end();
  watched_shared = {};
  block_of_this_thread = nullptr;
}

// Threads without work may return without waiting; a block of them alone has no business in the grid.
void Block::check_end() const {
  if (shared_.is_overrun()) fail("wrote behind the end of shared memory", 0);
  const bool has_waited =
      std::ranges::any_of(threads_, [](const Thread& thread) { return thread.has_waited_for_previous; });
  if (overlaps_previous_ && !has_waited) fail("overlaps the kernel before it and doesn't wait for it", 0);
}

void Block::start(Dim3 index) {
  index_ = index;
  shared_.clear();
  races_.meet_block();
  live_count_ = threads_.size();
  std::ranges::fill(absent_lanes_, 0U);
  waiting_count_ = 0;
  for (Thread& thread : threads_) {
    thread.state = State::kRunnable;
    thread.copies.clear();
    thread.has_waited_for_previous = false;
  }
}

// A fiber lives as long as its Block, and is one block's thread after the other's.
void Block::live(void* thread) {
  auto& self = *static_cast<Thread*>(thread);
  while (true) {
    self.block->body_();
    self.block->leave_warp("has returned", 0);
    self.block->be_absent(State::kReturned);
    --self.block->live_count_;
    self.fiber.yield();
  }
}

void Block::run_warp(size_t warp, OrderSource& order) {
  const size_t begin = warp * kWarpSize;
  const size_t lanes = std::min(threads_.size() - begin, size_t{kWarpSize});
  bool has_run = true;
  while (has_run) {
    has_run = false;
    for (const size_t lane : order.sequence(lanes)) {
      Thread& thread = threads_[begin + lane];
      if (thread.state != State::kRunnable) continue;
      has_run = true;
      if (order.skips()) continue;
      running_ = begin + lane;
      thread.fiber.resume();
    }
  }
}

// Each warp has run as far as it can. A lane that waits in a warp's operation for one that will not come has failed.
void Block::open_barrier() {
  SLUICE_CHECK(waiting_count_ == live_count_);
  waiting_count_ = 0;
  races_.meet_block();
  for (size_t i = 0; i < threads_.size(); ++i) {
    if (threads_[i].state != State::kAtBarrier) continue;
    threads_[i].state = State::kRunnable;
    absent_lanes_[i / kWarpSize] &= ~(1U << i % kWarpSize);
  }
}

void Block::be_absent(State how) {
  threads_[running_].state = how;
  absent_lanes_[running_ / kWarpSize] |= own_bit();
}

void Block::wait_for_block(int line) {
  leave_warp("waits at the block's barrier", line);
  if (waiting_count_ > 0 && threads_[at_barrier_].line != line)
    fail("divergent barrier: " + name_of(at_barrier_) + " waits at line " + std::to_string(threads_[at_barrier_].line) +
             ", " + name_of(running_) + " at line " + std::to_string(line),
         line);
  at_barrier_ = running_;
  ++waiting_count_;
  Thread& self = threads_[running_];
  self.line = line;
  be_absent(State::kAtBarrier);
  self.fiber.yield();
}

// Of the lanes that wait for others of their warp, none may wait for the one that runs, which won't come.
void Block::leave_warp(const char* how, int line) {
  for (uint32_t left = lanes_in_call(); left != 0; left &= left - 1) {
    const size_t other = warp_begin() + lowest(left);
    const WarpCall& call = *threads_[other].call;
    if ((call.mask & own_bit()) == 0) continue;
    fail(name_of(other) + " waits in " + call.name + " at line " + std::to_string(call.line) + " for " +
             name_of(running_) + ", which " + how,
         line);
  }
}

void Block::meet_warp(const WarpCall& call) {
  check_mask(call);
  check_all_will_come(call);
  check_all_agree(call);
  Thread& self = threads_[running_];
  self.call = &call;
  self.state = State::kInWarpCall;
  lanes_in_call() |= own_bit();
  if ((call.mask & ~lanes_in_call()) == 0) carry_out(call);
  self.fiber.yield();
}

void Block::check_mask(const WarpCall& call) const {
  if ((call.mask & own_bit()) == 0)
    fail(std::string(call.name) + " by lane " + std::to_string(running_ % kWarpSize) + ", which is not in its mask",
         call.line);
  if (warp_begin() + highest(call.mask) >= threads_.size())
    fail(std::string(call.name) + " with lanes in its mask that the block doesn't have", call.line);
}

void Block::check_all_will_come(const WarpCall& call) const {
  const uint32_t missing = call.mask & absent_lanes_[running_ / kWarpSize];
  if (missing == 0) return;
  const size_t partner = warp_begin() + lowest(missing);
  const Thread& other = threads_[partner];
  const std::string how = other.state == State::kReturned
                              ? "has returned"
                              : "waits at the block's barrier at line " + std::to_string(other.line);
  fail(name_of(running_) + " waits in " + call.name + " for " + name_of(partner) + ", which " + how, call.line);
}

// Either a waiting lane is in this mask or this lane in that lane's: then both have called the same.
void Block::check_all_agree(const WarpCall& call) const {
  for (uint32_t left = lanes_in_call(); left != 0; left &= left - 1) {
    const size_t partner = warp_begin() + lowest(left);
    const WarpCall& other = *threads_[partner].call;
    const bool is_same = call.mask == other.mask && call.name == other.name && call.line == other.line;
    if (is_same && call.mask == kFullMask) return;  // as all that wait have agreed with that one
    if (is_same || ((call.mask >> lowest(left) & 1U) == 0 && (other.mask & own_bit()) == 0)) continue;
    fail_for_difference(call, partner);
  }
}

void Block::fail_for_difference(const WarpCall& call, size_t partner) const {
  const WarpCall& other = *threads_[partner].call;
  const std::string both = name_of(running_) + " and " + name_of(partner);
  if (call.name != other.name)
    fail("different operations of " + both + ": " + call.name + ", " + other.name, call.line);
  if (call.mask != other.mask) fail("different masks of " + both + " in " + call.name, call.line);
  fail(both + " call " + call.name + " at different lines: " + std::to_string(call.line) + ", " +
           std::to_string(other.line),
       call.line);
}

void Block::carry_out(const WarpCall& call) {
  WarpArguments lanes{};
  for (uint32_t left = call.mask; left != 0; left &= left - 1)
    lanes[lowest(left)] = threads_[warp_begin() + lowest(left)].call->arguments;
  call.carry_out(lanes);
  for (uint32_t left = call.mask; left != 0; left &= left - 1)
    threads_[warp_begin() + lowest(left)].state = State::kRunnable;
  lanes_in_call() &= ~call.mask;
}

void Block::order_lanes(const WarpArguments& lanes) {
  uint32_t mask = 0;
  for (size_t lane = 0; lane < lanes.size(); ++lane) mask |= lanes[lane] == nullptr ? 0U : 1U << lane;
  races_.meet_warp(warp_begin(), mask);
}

void Block::note_access(const void* at, size_t bytes, bool writes) {
  const auto offset = static_cast<size_t>(static_cast<const std::byte*>(at) - shared_.data());
  if (!shared_.holds(at, bytes)) return;  // its beginning is shared memory, its end isn't: is_overrun() tells
  const std::optional<Race> race = races_.note(running_, offset, bytes, writes);
  if (!race) return;
  fail("race in shared memory at byte " + std::to_string(race->offset) + ": " + name_of(race->earlier) +
           (race->wrote_earlier ? " has written" : " has read") + " what " + name_of(running_) +
           (writes ? " writes" : " reads") + " without a barrier between",
       0);
}

void Block::fail(const std::string& message, int line) const {
  const std::string text = message + "; " + name_of(running_) + " of block " + to_text(index_);
  check_failed(text.c_str(), kernel_.c_str(), line);
}

std::string Block::name_of(size_t thread) const {
  return "thread " + to_text(position(thread));
}

}  // namespace sluice::gpu::simt
