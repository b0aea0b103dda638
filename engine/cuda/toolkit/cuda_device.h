#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <cuda_runtime_api.h>
#include <nvtx3/nvToolsExt.h>

#include "base/status.h"
#include "engine/cuda/device.h"
#include "engine/cuda/plugin.h"
#include "engine/cuda/toolkit/cublas_products.h"
#include "engine/cuda/toolkit/nccl_ranks.h"

namespace sluice::engine::cuda {

/// The machine's GPUs in CUDA's order, as Plugin::devices says.
Result<std::vector<std::string>> describe_devices();

/// A GPU: CUDA's runtime on one stream of its own. CUDA keeps a current device for each thread, and any thread may be
/// the caller, one after the other (one opens the devices of all ranks, each rank's loads and serves; the last one
/// closes them all): so each call makes this device current, stream() too, which is asked for wherever a kernel is
/// launched.
class CudaDevice final : public Device {
 public:
  /// Makes the device that CUDA numbers so the calling thread's. INTERNAL when there is none.
  static Status select(int32_t ordinal);

  /// FAILED_PRECONDITION when the device is older than the kernels' instructions (compute capability 8.0). `rank` is
  /// its place among devices that share a model; their group outlives it, and what waits for the device fails when one
  /// of them has left.
  static Result<std::unique_ptr<CudaDevice>> open(int32_t ordinal, const ProductOptions& options, NcclRank rank = {});
  ~CudaDevice() override;
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  std::string description() const override { return description_; }
  DeviceMemory memory() const override;
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
  /// Of kernels, ours and cuBLASLt's: a driver loads each when it is first launched.
  int64_t code_bytes_max() const override { return int64_t{512} << 20; }
  Status check_products(Element element) const override;
  int32_t rank_count() const override { return rank_.ranks == nullptr ? 1 : rank_.ranks->rank_count(); }
  Status all_reduce(float* values, int64_t count) override;
  Result<std::unique_ptr<DeviceEvent>> make_event() override;
  Status record(DeviceEvent& event) override;
  Status wait(DeviceEvent& event) override;
  Status synchronize() override;
  Status begin_recording() override;
  Result<std::unique_ptr<DeviceGraph>> end_recording() override;
  Status run(DeviceGraph& graph) override;
  /// NVTX's, in the domain "sluice"; they cost a branch while no profiler listens.
  void begin_range(const std::function<std::string()>& name) override;
  void end_range() override;
  void* stream() override;

 private:
  CudaDevice(int32_t ordinal, std::string description, NcclRank rank)
      : ordinal_(ordinal), description_(std::move(description)), rank_(rank) {}

  void make_current() const;
  Status check_ranks() const;
  Status copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind);

  const int32_t ordinal_;
  const std::string description_;
  const NcclRank rank_;
  const nvtxDomainHandle_t ranges_ = nvtxDomainCreateA("sluice");  // nullptr: no profiler listens
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<CublasProducts> products_;
};

}  // namespace sluice::engine::cuda
