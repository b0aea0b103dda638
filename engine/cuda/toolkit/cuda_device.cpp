#include "engine/cuda/toolkit/cuda_device.h"

#include <cstring>
#include <utility>

#include "engine/cuda/toolkit/cuda_status.h"

namespace sluice::engine::cuda {
namespace {

constexpr int kGenerationMin = 8;  // bf16 in matrix instructions, asynchronous copies

class CudaEvent final : public DeviceEvent {
 public:
  explicit CudaEvent(cudaEvent_t event) : event_(event) {}
  ~CudaEvent() override { static_cast<void>(cudaEventDestroy(event_)); }
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;

  cudaEvent_t get() const { return event_; }

 private:
  const cudaEvent_t event_;
};

class CudaGraph final : public DeviceGraph {
 public:
  explicit CudaGraph(cudaGraphExec_t graph) : graph_(graph) {}
  ~CudaGraph() override { static_cast<void>(cudaGraphExecDestroy(graph_)); }
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;

  cudaGraphExec_t get() const { return graph_; }

 private:
  const cudaGraphExec_t graph_;
};

std::string describe(const cudaDeviceProp& properties) {
  return std::string(properties.name) + ", " + std::to_string(properties.totalGlobalMem >> 30) + " GiB";
}

Result<cudaDeviceProp> properties_of(int32_t ordinal) {
  cudaDeviceProp properties{};
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaGetDeviceProperties(&properties, ordinal),
                                     "asking what device cuda:" + std::to_string(ordinal) + " is"));
  return properties;
}

Status no_memory(int64_t bytes, const std::string& what, const std::string& purpose, const DeviceMemory& memory) {
  return resource_exhausted("no " + std::to_string(bytes) + " bytes of " + what + " for " + purpose + ": " +
                            std::to_string(memory.free) + " of " + std::to_string(memory.total) +
                            " are free on the device");
}

}  // namespace

Result<std::vector<std::string>> describe_devices() {
  int count = 0;
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaGetDeviceCount(&count), "looking for CUDA devices"));
  std::vector<std::string> devices;
  for (int32_t ordinal = 0; ordinal < count; ++ordinal) {
    SLUICE_ASSIGN_OR_RETURN(const cudaDeviceProp properties, properties_of(ordinal));
    devices.push_back(describe(properties));
  }
  return devices;
}

Status CudaDevice::select(int32_t ordinal) {
  return cuda_status(cudaSetDevice(ordinal), "opening cuda:" + std::to_string(ordinal));
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(int32_t ordinal, const ProductOptions& options, NcclRank rank) {
  SLUICE_ASSIGN_OR_RETURN(const cudaDeviceProp properties, properties_of(ordinal));
  const std::string name = "cuda:" + std::to_string(ordinal) + " " + describe(properties);
  if (properties.major < kGenerationMin) {
    return failed_precondition(name + " has compute capability " + std::to_string(properties.major) + "." +
                               std::to_string(properties.minor) + ", but 8.0 or later is needed; use another device");
  }
  SLUICE_RETURN_IF_ERROR(select(ordinal));
  std::unique_ptr<CudaDevice> device(new CudaDevice(ordinal, name, rank));
  // Non-blocking: CUDA's default stream, which nothing here uses, would else wait for this one and it for that.
  SLUICE_RETURN_IF_ERROR(
      cuda_status(cudaStreamCreateWithFlags(&device->stream_, cudaStreamNonBlocking), "opening " + name));
  SLUICE_ASSIGN_OR_RETURN(device->products_, CublasProducts::create(*device, options));
  return device;
}

// What the device still does may use what is released here.
CudaDevice::~CudaDevice() {
  make_current();
  if (stream_ != nullptr) static_cast<void>(cudaStreamSynchronize(stream_));
  products_.reset();
  if (stream_ != nullptr) static_cast<void>(cudaStreamDestroy(stream_));
  if (ranges_ != nullptr) nvtxDomainDestroy(ranges_);
}

// It was current when the device was opened. What fails here can only be work of before, of which the next call tells.
void CudaDevice::make_current() const {
  static_cast<void>(cudaSetDevice(ordinal_));
}

DeviceMemory CudaDevice::memory() const {
  make_current();
  size_t free = 0;
  size_t total = 0;
  if (!cuda_status(cudaMemGetInfo(&free, &total), "asking for free memory").ok()) return {};
  return {.total = static_cast<int64_t>(total), .free = static_cast<int64_t>(free)};
}

Result<void*> CudaDevice::allocate(int64_t bytes, const std::string& purpose) {
  SLUICE_CHECK(bytes > 0);
  make_current();
  void* memory = nullptr;
  const cudaError_t error = cudaMalloc(&memory, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cuda_status(error, purpose));  // else the next call would tell of it again
    return no_memory(bytes, "device memory", purpose, this->memory());
  }
  SLUICE_RETURN_IF_ERROR(cuda_status(error, "allocating memory for " + purpose));
  const Status zeroed =
      cuda_status(cudaMemsetAsync(memory, 0, static_cast<size_t>(bytes), stream_), "zeroing memory for " + purpose);
  if (!zeroed.ok()) {
    release(memory);
    return zeroed;
  }
  return memory;
}

// cudaFree waits for what the device still does.
void CudaDevice::release(void* memory) {
  make_current();
  static_cast<void>(cuda_status(cudaFree(memory), "releasing memory"));
}

Result<void*> CudaDevice::allocate_host(int64_t bytes, const std::string& purpose) {
  SLUICE_CHECK(bytes > 0);
  make_current();
  void* memory = nullptr;
  const cudaError_t error = cudaMallocHost(&memory, static_cast<size_t>(bytes));
  if (error == cudaErrorMemoryAllocation) {
    static_cast<void>(cuda_status(error, purpose));
    return no_memory(bytes, "pinned memory", purpose, this->memory());
  }
  SLUICE_RETURN_IF_ERROR(cuda_status(error, "allocating pinned memory for " + purpose));
  std::memset(memory, 0, static_cast<size_t>(bytes));
  return memory;
}

void CudaDevice::release_host(void* memory) {
  make_current();
  static_cast<void>(cuda_status(cudaStreamSynchronize(stream_), "waiting for the device"));
  static_cast<void>(cuda_status(cudaFreeHost(memory), "releasing pinned memory"));
}

Status CudaDevice::copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind) {
  SLUICE_CHECK(bytes >= 0);
  make_current();
  const char* const what = kind == cudaMemcpyHostToDevice   ? "copying to the device"
                           : kind == cudaMemcpyDeviceToHost ? "copying from the device"
                                                            : "copying on the device";
  return cuda_status(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream_), what);
}

Status CudaDevice::copy_in(void* device_to, const void* from, int64_t bytes) {
  SLUICE_RETURN_IF_ERROR(copy(device_to, from, bytes, cudaMemcpyHostToDevice));
  return synchronize();
}

Status CudaDevice::copy_out(void* to, const void* device_from, int64_t bytes) {
  SLUICE_RETURN_IF_ERROR(copy(to, device_from, bytes, cudaMemcpyDeviceToHost));
  return synchronize();
}

Status CudaDevice::enqueue_copy_in(void* device_to, const void* host_from, int64_t bytes) {
  return copy(device_to, host_from, bytes, cudaMemcpyHostToDevice);
}

Status CudaDevice::enqueue_copy_out(void* host_to, const void* device_from, int64_t bytes) {
  return copy(host_to, device_from, bytes, cudaMemcpyDeviceToHost);
}

Status CudaDevice::enqueue_copy(void* device_to, const void* device_from, int64_t bytes) {
  return copy(device_to, device_from, bytes, cudaMemcpyDeviceToDevice);
}

Status CudaDevice::check_products(Element element) const {
  if (element != Element::kFp8) return {};
  make_current();
  return products_->check_fp8().ok() ? Status() : Device::check_products(element);
}

Status CudaDevice::multiply(const Product& product) {
  make_current();
  return products_->multiply(product);
}

void CudaDevice::prepare(const Product& product) {
  make_current();
  products_->prepare(product);
}

Status CudaDevice::all_reduce(float* values, int64_t count) {
  if (rank_.ranks == nullptr) return {};
  make_current();
  return rank_.ranks->all_reduce(rank_.index, values, count, stream_);
}

// A rank that leaves ends the sums which wait for it, and to CUDA they have gone well.
Status CudaDevice::check_ranks() const {
  return rank_.ranks == nullptr ? Status() : rank_.ranks->status();
}

Result<std::unique_ptr<DeviceEvent>> CudaDevice::make_event() {
  make_current();
  cudaEvent_t event = nullptr;
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event"));
  return std::unique_ptr<DeviceEvent>(std::make_unique<CudaEvent>(event));
}

Status CudaDevice::record(DeviceEvent& event) {
  make_current();
  return cuda_status(cudaEventRecord(static_cast<CudaEvent&>(event).get(), stream_), "recording an event");
}

Status CudaDevice::wait(DeviceEvent& event) {
  make_current();
  SLUICE_RETURN_IF_ERROR(
      cuda_status(cudaEventSynchronize(static_cast<CudaEvent&>(event).get()), "waiting for an event"));
  return check_ranks();
}

Status CudaDevice::synchronize() {
  make_current();
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaStreamSynchronize(stream_), "waiting for the device"));
  return check_ranks();
}

// Relaxed, as a kernel's first launch, recorded or not, loads it, and CUDA may take memory for that.
Status CudaDevice::begin_recording() {
  make_current();
  return cuda_status(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeRelaxed), "beginning to record");
}

Result<std::unique_ptr<DeviceGraph>> CudaDevice::end_recording() {
  make_current();
  cudaGraph_t recorded = nullptr;
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaStreamEndCapture(stream_, &recorded), "recording"));
  cudaGraphExec_t graph = nullptr;
  const Status made = cuda_status(cudaGraphInstantiate(&graph, recorded, 0), "making a graph of what was recorded");
  static_cast<void>(cudaGraphDestroy(recorded));
  if (!made.ok()) return made;
  std::unique_ptr<DeviceGraph> kept = std::make_unique<CudaGraph>(graph);
  // Else its first run would take its memory on the device, when that may be full, and a request would wait for it.
  SLUICE_RETURN_IF_ERROR(cuda_status(cudaGraphUpload(graph, stream_), "bringing a graph to the device"));
  return kept;
}

Status CudaDevice::run(DeviceGraph& graph) {
  make_current();
  return cuda_status(cudaGraphLaunch(static_cast<CudaGraph&>(graph).get(), stream_), "running a graph");
}

void CudaDevice::begin_range(const std::function<std::string()>& name) {
  if (ranges_ == nullptr) return;
  const std::string text = name();
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = text.c_str();
  nvtxDomainRangePushEx(ranges_, &attributes);
}

void CudaDevice::end_range() {
  if (ranges_ != nullptr) nvtxDomainRangePop(ranges_);
}

void* CudaDevice::stream() {
  make_current();
  return stream_;
}

}  // namespace sluice::engine::cuda
