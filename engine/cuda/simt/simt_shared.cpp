#include "engine/cuda/simt/simt_shared.h"

#include <algorithm>
#include <cstring>

#include "engine/cuda/simt/simt_sanitizer.h"

namespace sluice::gpu::simt {
namespace {

constexpr std::byte kUnset{0xFF};
constexpr size_t kGuardBytes = 4096;

std::byte* align_up(std::byte* at, size_t alignment) {
  const auto address = reinterpret_cast<uintptr_t>(at);
  return at + ((address + alignment - 1) / alignment * alignment - address);
}

}  // namespace

SharedMemory::SharedMemory(size_t bytes)
    : bytes_(bytes),
      memory_(std::make_unique<std::byte[]>(bytes + kGuardBytes + kSharedAlignment)),
      data_(align_up(memory_.get(), kSharedAlignment)) {
  std::fill_n(data_ + bytes_, kGuardBytes, kUnset);
  poison(data_ + bytes_, kGuardBytes);
}

SharedMemory::~SharedMemory() {
  unpoison(data_, bytes_ + kGuardBytes);
}

void SharedMemory::clear() {
  unpoison(data_, bytes_);
  std::fill_n(data_, bytes_, kUnset);
}

bool SharedMemory::holds(const void* at, size_t bytes) const {
  const auto* const begin = static_cast<const std::byte*>(at);
  return begin >= data_ && begin <= data_ + bytes_ && bytes <= static_cast<size_t>(data_ + bytes_ - begin);
}

bool SharedMemory::is_overrun() const {
  unpoison(data_ + bytes_, kGuardBytes);
  const bool is_whole =
      std::all_of(data_ + bytes_, data_ + bytes_ + kGuardBytes, [](std::byte each) { return each == kUnset; });
  poison(data_ + bytes_, kGuardBytes);
  return !is_whole;
}

void CopyQueue::add(void* to, const void* from, size_t bytes) {
  std::memset(to, static_cast<int>(kUnset), kCopyBytes);
  poison(to, kCopyBytes);
  copies_.push_back({to, from, bytes, group_});
}

void CopyQueue::wait(int32_t groups, const std::function<void(const void* to)>& done) {
  const auto end =
      std::find_if(copies_.begin(), copies_.end(), [&](const Copy& copy) { return copy.group >= group_ - groups; });
  for (auto copy = copies_.begin(); copy != end; ++copy) {
    unpoison(copy->to, kCopyBytes);
    std::memset(copy->to, 0, kCopyBytes);
    if (copy->bytes > 0) std::memcpy(copy->to, copy->from, copy->bytes);
    done(copy->to);
  }
  copies_.erase(copies_.begin(), end);
}

void CopyQueue::clear() {
  copies_.clear();
  group_ = 0;
}

}  // namespace sluice::gpu::simt
