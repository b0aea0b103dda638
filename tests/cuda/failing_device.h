#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// Another device, lent, until the given number of calls that may fail; that one and all after it fail. Releasing works
/// on. Keeps what it is told of products to come.
class FailingDevice final : public Device {
 public:
  FailingDevice(Device& device, int64_t calls) : device_(device), calls_left_(calls) {}

  std::string description() const override { return device_.description(); }
  DeviceMemory memory() const override { return device_.memory(); }
  Result<void*> allocate(int64_t bytes, const std::string& purpose) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.allocate(bytes, purpose);
  }
  void release(void* memory) override { device_.release(memory); }
  Result<void*> allocate_host(int64_t bytes, const std::string& purpose) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.allocate_host(bytes, purpose);
  }
  void release_host(void* memory) override { device_.release_host(memory); }
  Status copy_in(void* device_to, const void* from, int64_t bytes) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.copy_in(device_to, from, bytes);
  }
  Status copy_out(void* to, const void* device_from, int64_t bytes) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.copy_out(to, device_from, bytes);
  }
  Status enqueue_copy_in(void* device_to, const void* host_from, int64_t bytes) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    is_idle_ = false;
    return device_.enqueue_copy_in(device_to, host_from, bytes);
  }
  Status enqueue_copy_out(void* host_to, const void* device_from, int64_t bytes) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    is_idle_ = false;
    return device_.enqueue_copy_out(host_to, device_from, bytes);
  }
  Status enqueue_copy(void* device_to, const void* device_from, int64_t bytes) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    is_idle_ = false;
    return device_.enqueue_copy(device_to, device_from, bytes);
  }
  Status multiply(const Product& product) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.multiply(product);
  }
  void prepare(const Product& product) override {
    prepared_.push_back(product);
    device_.prepare(product);
  }
  int32_t rank_count() const override { return device_.rank_count(); }
  Status all_reduce(float* values, int64_t count) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.all_reduce(values, count);
  }
  Result<std::unique_ptr<DeviceEvent>> make_event() override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.make_event();
  }
  Status record(DeviceEvent& event) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.record(event);
  }
  Status wait(DeviceEvent& event) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.wait(event);
  }
  Status synchronize() override {
    SLUICE_RETURN_IF_ERROR(count_call());
    is_idle_ = true;
    return device_.synchronize();
  }
  Status begin_recording() override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.begin_recording();
  }
  Result<std::unique_ptr<DeviceGraph>> end_recording() override {
    Result<std::unique_ptr<DeviceGraph>> graph = device_.end_recording();  // in any case: memory can be released again
    SLUICE_RETURN_IF_ERROR(count_call());
    return graph;
  }
  Status run(DeviceGraph& graph) override {
    SLUICE_RETURN_IF_ERROR(count_call());
    return device_.run(graph);
  }
  void* stream() override { return device_.stream(); }

  const std::vector<Product>& prepared() const { return prepared_; }
  /// No copy has been enqueued since the device was last waited for.
  bool is_idle() const { return is_idle_; }

 private:
  Status count_call() {
    if (calls_left_ <= 0) return internal_error("the device fell off the bus");
    --calls_left_;
    return {};
  }

  Device& device_;
  int64_t calls_left_;
  std::vector<Product> prepared_;
  bool is_idle_ = true;
};

}  // namespace sluice::engine::cuda
