#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/status.h"
#include "engine/communicator.h"
#include "engine/cuda/device.h"
#include "engine/cuda/simt/simt_order.h"

namespace sluice::engine::cuda {

/// A device of this machine's memory: kernels run in the SIMT simulation and products in plain loops. Slow, and exact
/// about what a GPU would let pass: it is for tests. What is asked for is done when somebody waits and not before, so
/// that memory which is touched too early shows. A product that is recorded must have been prepared.
class HostDevice final : public Device {
 public:
  /// `bytes` is what it has in all; `order` is that of threads and blocks. `communicator` is lent and outlives it; with
  /// one, the device is its rank's, and sums are made when the rank waits for them.
  explicit HostDevice(int64_t bytes, gpu::simt::Order order = {}, Communicator* communicator = nullptr)
      : total_(bytes), communicator_(communicator), stream_{order, &queue_} {}
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  std::string description() const override { return "simulated GPU"; }
  DeviceMemory memory() const override { return {total_, total_ - device_memory_.bytes}; }
  Result<void*> allocate(int64_t bytes, const std::string& purpose) override;
  void release(void* memory) override;
  Result<void*> allocate_host(int64_t bytes, const std::string& purpose) override;
  void release_host(void* memory) override;
  Status copy_in(void* device_to, const void* from, int64_t bytes) override;
  Status copy_out(void* to, const void* device_from, int64_t bytes) override;
  Status enqueue_copy_in(void* device_to, const void* host_from, int64_t bytes) override;
  Status enqueue_copy_out(void* host_to, const void* device_from, int64_t bytes) override;
  Status enqueue_copy(void* device_to, const void* device_from, int64_t bytes) override;
  Status multiply(const Product& product) override;
  void prepare(const Product& product) override;
  Status check_products(Element /*element*/) const override { return {}; }
  int32_t rank_count() const override { return communicator_ == nullptr ? 1 : communicator_->rank().count; }
  Status all_reduce(float* values, int64_t count) override;
  Result<std::unique_ptr<DeviceEvent>> make_event() override;
  Status record(DeviceEvent& event) override;
  Status wait(DeviceEvent& event) override;
  Status synchronize() override;
  Status begin_recording() override;
  Result<std::unique_ptr<DeviceGraph>> end_recording() override;
  Status run(DeviceGraph& graph) override;
  void begin_range(const std::function<std::string()>& name) override;
  void end_range() override;
  void* stream() override { return &stream_; }

  /// From now on names of ranges are kept there, as if a profiler listened; lent.
  void profile(std::vector<std::string>& range_names) { range_names_ = &range_names; }

  /// Pinned bytes there are.
  int64_t host_bytes() const { return host_memory_.bytes; }
  /// How often memory of either kind was asked for.
  int64_t allocation_count() const { return allocation_count_; }
  /// What enqueue_copy_in() was asked for so far.
  struct Copies {
    int64_t count = 0;
    int64_t bytes = 0;
  };
  Copies copied_in() const { return copied_in_; }

 private:
  using Work = std::function<void()>;
  /// Rows, outputs, inputs, floats between rows, element, whether it adds, whether it has a bias.
  using ProductKind = std::tuple<int32_t, int32_t, int32_t, int32_t, Element, bool, bool>;

  /// What is allocated of one kind.
  struct Pieces {
    std::map<const std::byte*, int64_t> sizes;
    int64_t bytes = 0;

    bool contains(const void* memory, int64_t size) const;
  };

  Result<void*> allocate_in(Pieces& pieces, int64_t bytes, const std::string& purpose);
  void release_in(Pieces& pieces, void* memory);
  static ProductKind kind_of(const Product& product);
  void check_fp8(const Product& product) const;
  void enqueue(Work work);
  Status run_until(uint64_t count);

  const int64_t total_;
  Communicator* const communicator_;
  Pieces device_memory_;
  Pieces host_memory_;
  int64_t allocation_count_ = 0;
  Copies copied_in_;
  std::vector<Work> queue_;  ///< asked for and not done, or recorded
  uint64_t done_count_ = 0;  ///< of all that was ever asked for
  Status failure_;           ///< the first one of what was done
  bool is_recording_ = false;
  std::set<ProductKind> prepared_;
  bool is_in_range_ = false;
  std::vector<std::string>* range_names_ = nullptr;  ///< nullptr: nobody listens
  gpu::simt::Stream stream_;
};

}  // namespace sluice::engine::cuda
