#include "engine/cuda/host_device.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/cuda/simt/simt_numbers.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {
namespace {

constexpr std::align_val_t kAlignment{256};  // what cudaMalloc promises

/// As many elements as `to` takes, from memory[first] on.
void load(Element element, const void* memory, int64_t first, std::vector<float>& to) {
  switch (element) {
    case Element::kF32:
      std::memcpy(to.data(), static_cast<const float*>(memory) + first, to.size() * sizeof(float));
      return;
    case Element::kBf16:
      std::transform(static_cast<const uint16_t*>(memory) + first,
                     static_cast<const uint16_t*>(memory) + first + to.size(), to.begin(), bf16_to_float);
      return;
    case Element::kFp8:
      std::transform(static_cast<const uint8_t*>(memory) + first,
                     static_cast<const uint8_t*>(memory) + first + to.size(), to.begin(), gpu::simt::fp8_to_float);
      return;
  }
}

/// Sixteen sums side by side, which a compiler turns into vectors, then one of them all.
float dot(const float* a, const float* b, size_t count) {
  constexpr size_t kLanes = 16;
  std::array<float, kLanes> sums{};
  size_t at = 0;
  for (; at + kLanes <= count; at += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += a[at + lane] * b[at + lane];
  }
  for (; at < count; ++at) sums[at % kLanes] += a[at] * b[at];
  float sum = 0;
  for (const float part : sums) sum += part;
  return sum;
}

void multiply_now(const Product& product) {
  const int64_t inputs = product.inputs;
  const int64_t outputs = product.outputs;
  std::vector<float> in(static_cast<size_t>(product.rows * inputs));
  std::vector<float> matrix_row(static_cast<size_t>(inputs));
  load(product.element, product.in, 0, in);
  for (int64_t output = 0; output < outputs; ++output) {
    load(product.element, product.matrix, output * inputs, matrix_row);
    for (int64_t row = 0; row < product.rows; ++row) {
      float& out = product.out[row * product.floats_between_rows() + output];
      const float before = product.adds ? out : product.bias != nullptr ? product.bias[output] : 0;
      float sum = dot(&in[static_cast<size_t>(row * inputs)], matrix_row.data(), matrix_row.size());
      if (product.element == Element::kFp8) sum *= product.in_scales[row] * product.matrix_scales[output];
      out = before + sum;
    }
  }
}

/// Reached when so much of all that was ever asked for is done.
class HostEvent final : public DeviceEvent {
 public:
  uint64_t count = 0;
};

class HostGraph final : public DeviceGraph {
 public:
  explicit HostGraph(std::vector<std::function<void()>> work) : work_(std::move(work)) {}
  const std::vector<std::function<void()>>& work() const { return work_; }

 private:
  std::vector<std::function<void()>> work_;
};

}  // namespace

HostDevice::~HostDevice() {
  for (const Pieces* pieces : {&device_memory_, &host_memory_}) {
    for (const auto& [memory, bytes] : pieces->sizes) ::operator delete(const_cast<std::byte*>(memory), kAlignment);
  }
}

bool HostDevice::Pieces::contains(const void* memory, int64_t size) const {
  const auto* begin = static_cast<const std::byte*>(memory);
  auto after = sizes.upper_bound(begin);
  if (after == sizes.begin()) return false;
  const auto& [start, piece_size] = *--after;
  return begin + size <= start + piece_size;
}

Result<void*> HostDevice::allocate_in(Pieces& pieces, int64_t bytes, const std::string& purpose) {
  SLUICE_CHECK(bytes > 0 && !is_recording_);
  auto* memory = static_cast<std::byte*>(::operator new(static_cast<size_t>(bytes), kAlignment, std::nothrow));
  if (memory == nullptr) {
    return resource_exhausted("this machine has no " + std::to_string(bytes) + " bytes for " + purpose);
  }
  std::memset(memory, 0, static_cast<size_t>(bytes));
  pieces.bytes += bytes;
  pieces.sizes.emplace(memory, bytes);
  ++allocation_count_;
  return static_cast<void*>(memory);
}

void HostDevice::release_in(Pieces& pieces, void* memory) {
  static_cast<void>(run_until(done_count_ + queue_.size()));  // whoever waits next is told of a failure
  const auto found = pieces.sizes.find(static_cast<const std::byte*>(memory));
  SLUICE_CHECK(found != pieces.sizes.end());
  pieces.bytes -= found->second;
  pieces.sizes.erase(found);
  ::operator delete(memory, kAlignment);
}

Result<void*> HostDevice::allocate(int64_t bytes, const std::string& purpose) {
  if (bytes > memory().free) {
    return resource_exhausted("no " + std::to_string(bytes) + " bytes of device memory for " + purpose + ": " +
                              std::to_string(memory().free) + " of " + std::to_string(total_) + " are free");
  }
  return allocate_in(device_memory_, bytes, purpose);
}

void HostDevice::release(void* memory) {
  release_in(device_memory_, memory);
}

Result<void*> HostDevice::allocate_host(int64_t bytes, const std::string& purpose) {
  return allocate_in(host_memory_, bytes, purpose);
}

void HostDevice::release_host(void* memory) {
  release_in(host_memory_, memory);
}

void HostDevice::enqueue(Work work) {
  queue_.push_back(std::move(work));
}

/// Does what was asked for, up to the given count of all that ever was. A failure stays, as a GPU's does.
Status HostDevice::run_until(uint64_t count) {
  SLUICE_CHECK(!is_recording_);
  size_t taken = 0;
  for (; done_count_ < count; ++done_count_) queue_.at(taken++)();
  queue_.erase(queue_.begin(), queue_.begin() + static_cast<std::ptrdiff_t>(taken));
  return failure_;
}

Status HostDevice::copy_in(void* device_to, const void* from, int64_t bytes) {
  SLUICE_CHECK(device_memory_.contains(device_to, bytes));
  SLUICE_RETURN_IF_ERROR(synchronize());
  std::copy_n(static_cast<const std::byte*>(from), bytes, static_cast<std::byte*>(device_to));
  return {};
}

Status HostDevice::copy_out(void* to, const void* device_from, int64_t bytes) {
  SLUICE_CHECK(device_memory_.contains(device_from, bytes));
  SLUICE_RETURN_IF_ERROR(synchronize());
  std::copy_n(static_cast<const std::byte*>(device_from), bytes, static_cast<std::byte*>(to));
  return {};
}

// A copy or a product beyond what was allocated is a bug that a GPU may not notice.

Status HostDevice::enqueue_copy_in(void* device_to, const void* host_from, int64_t bytes) {
  SLUICE_CHECK(device_memory_.contains(device_to, bytes) && host_memory_.contains(host_from, bytes));
  copied_in_ = {copied_in_.count + 1, copied_in_.bytes + bytes};
  enqueue([=] { std::memcpy(device_to, host_from, static_cast<size_t>(bytes)); });
  return {};
}

Status HostDevice::enqueue_copy_out(void* host_to, const void* device_from, int64_t bytes) {
  SLUICE_CHECK(host_memory_.contains(host_to, bytes) && device_memory_.contains(device_from, bytes));
  enqueue([=] { std::memcpy(host_to, device_from, static_cast<size_t>(bytes)); });
  return {};
}

Status HostDevice::enqueue_copy(void* device_to, const void* device_from, int64_t bytes) {
  SLUICE_CHECK(device_memory_.contains(device_to, bytes) && device_memory_.contains(device_from, bytes));
  enqueue([=] { std::memcpy(device_to, device_from, static_cast<size_t>(bytes)); });
  return {};
}

/// What a library for GPUs asks for.
void HostDevice::check_fp8(const Product& product) const {
  const auto is_aligned = [](const void* at) { return reinterpret_cast<uintptr_t>(at) % kFp8Multiple == 0; };
  SLUICE_CHECK(product.bias == nullptr);
  SLUICE_CHECK(product.inputs % kFp8Multiple == 0 && product.outputs % kFp8Multiple == 0);
  SLUICE_CHECK(is_aligned(product.in) && is_aligned(product.matrix));
  SLUICE_CHECK(is_aligned(product.in_scales) && is_aligned(product.matrix_scales));
  constexpr auto kFloatBytes = static_cast<int64_t>(sizeof(float));
  SLUICE_CHECK(device_memory_.contains(product.in_scales, product.rows * kFloatBytes));
  SLUICE_CHECK(device_memory_.contains(product.matrix_scales, product.outputs * kFloatBytes));
}

HostDevice::ProductKind HostDevice::kind_of(const Product& product) {
  return {product.rows,    product.outputs, product.inputs,         product.floats_between_rows(),
          product.element, product.adds,    product.bias != nullptr};
}

void HostDevice::prepare(const Product& product) {
  SLUICE_CHECK(!is_recording_);
  prepared_.insert(kind_of(product));
}

Status HostDevice::multiply(const Product& product) {
  SLUICE_CHECK(!is_recording_ || prepared_.contains(kind_of(product)));
  SLUICE_CHECK(product.bias == nullptr || !product.adds);
  const int64_t inputs = product.inputs;
  const int64_t outputs = product.outputs;
  const int64_t bytes = element_bytes(product.element);
  SLUICE_CHECK(device_memory_.contains(product.in, product.rows * inputs * bytes));
  SLUICE_CHECK(device_memory_.contains(product.matrix, outputs * inputs * bytes));
  const int64_t stride = product.floats_between_rows();
  SLUICE_CHECK(stride >= outputs);
  const int64_t out_floats = product.rows == 0 ? 0 : (product.rows - 1) * stride + outputs;
  SLUICE_CHECK(device_memory_.contains(product.out, out_floats * element_bytes(Element::kF32)));
  SLUICE_CHECK(product.bias == nullptr ||
               device_memory_.contains(product.bias, outputs * element_bytes(Element::kF32)));
  if (product.element == Element::kFp8) check_fp8(product);
  enqueue([product] { multiply_now(product); });
  return {};
}

Status HostDevice::all_reduce(float* values, int64_t count) {
  SLUICE_CHECK(device_memory_.contains(values, count * element_bytes(Element::kF32)));
  if (communicator_ == nullptr) return {};
  enqueue([this, values, count] {
    const Status status = communicator_->all_reduce({values, static_cast<size_t>(count)});
    if (failure_.ok()) failure_ = status;
  });
  return {};
}

Result<std::unique_ptr<DeviceEvent>> HostDevice::make_event() {
  return std::unique_ptr<DeviceEvent>(std::make_unique<HostEvent>());
}

Status HostDevice::record(DeviceEvent& event) {
  SLUICE_CHECK(!is_recording_);
  static_cast<HostEvent&>(event).count = done_count_ + queue_.size();
  return {};
}

Status HostDevice::wait(DeviceEvent& event) {
  return run_until(static_cast<HostEvent&>(event).count);
}

Status HostDevice::synchronize() {
  return run_until(done_count_ + queue_.size());
}

Status HostDevice::begin_recording() {
  SLUICE_RETURN_IF_ERROR(synchronize());
  is_recording_ = true;
  return {};
}

Result<std::unique_ptr<DeviceGraph>> HostDevice::end_recording() {
  SLUICE_CHECK(is_recording_);
  is_recording_ = false;
  return std::unique_ptr<DeviceGraph>(std::make_unique<HostGraph>(std::exchange(queue_, {})));
}

Status HostDevice::run(DeviceGraph& graph) {
  SLUICE_CHECK(!is_recording_);
  for (const Work& work : static_cast<const HostGraph&>(graph).work()) enqueue(work);
  return {};
}

void HostDevice::begin_range(const std::function<std::string()>& name) {
  SLUICE_CHECK(!std::exchange(is_in_range_, true));
  if (range_names_ != nullptr) range_names_->push_back(name());
}

void HostDevice::end_range() {
  SLUICE_CHECK(std::exchange(is_in_range_, false));
}

}  // namespace sluice::engine::cuda
