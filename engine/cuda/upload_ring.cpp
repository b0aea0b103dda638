#include "engine/cuda/upload_ring.h"

#include "base/check.h"

namespace sluice::engine::cuda {

Result<UploadRing> UploadRing::create(Device& device, int64_t bytes, const std::string& purpose) {
  UploadRing ring(device);
  for (Turn& turn : ring.turns_) {
    SLUICE_ASSIGN_OR_RETURN(turn.memory, HostBuffer::allocate(device, bytes, purpose));
    SLUICE_ASSIGN_OR_RETURN(turn.is_read, device.make_event());
  }
  return ring;
}

Result<std::byte*> UploadRing::begin() {
  now_ = (now_ + 1) % turns_.size();
  SLUICE_RETURN_IF_ERROR(device_->wait(*turns_[now_].is_read));
  return turns_[now_].memory.as<std::byte>();
}

Status UploadRing::send(void* device_to, int64_t offset, int64_t bytes) {
  if (bytes == 0) return {};
  const HostBuffer& memory = turns_[now_].memory;
  SLUICE_CHECK(offset >= 0 && bytes > 0 && offset + bytes <= memory.bytes());
  return device_->enqueue_copy_in(device_to, memory.as<std::byte>() + offset, bytes);
}

Status UploadRing::end() {
  return device_->record(*turns_[now_].is_read);
}

}  // namespace sluice::engine::cuda
