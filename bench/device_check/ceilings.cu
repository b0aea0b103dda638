// What the device gives at most, as a line of JSON: bytes per second that it reads and copies, and floating-point
// operations per second of a large product of bf16 matrices. The other figures of bench/device_check.sh are shares of
// these.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cublasLt.h>
#include <cuda_runtime.h>

namespace {

constexpr int kSkipped = 77;
constexpr int64_t kBytes = int64_t{4} << 30;  // many times what a cache holds
constexpr int64_t kSide = 8192;
constexpr int kRounds = 10;
constexpr int kThreads = 512;
constexpr int kBlocksPerProcessor = 4;

void check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::printf("%s: %s\n", what, cudaGetErrorString(result));
  std::exit(1);
}

void check(cublasStatus_t result, const char* what) {
  if (result == CUBLAS_STATUS_SUCCESS) return;
  std::printf("%s: %s\n", what, cublasLtGetStatusString(result));
  std::exit(1);
}

void* allocate(int64_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<size_t>(bytes)), "cudaMalloc");
  return memory;
}

/// Bits without a pattern: products of zeros take less power, and so run faster than those of a model.
__global__ void fill(uint4* to, int64_t count, uint32_t mask) {
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    uint32_t words[4];
    for (uint32_t j = 0; j < 4; ++j) {
      uint32_t x = static_cast<uint32_t>(4 * i + j) * 2654435761U;
      x = (x ^ x >> 15) * 2246822519U;
      words[j] = (x ^ x >> 13) & mask;
    }
    to[i] = {words[0], words[1], words[2], words[3]};
  }
}

/// Writes a sum that nobody reads, so that the reads are not left out.
__global__ void read(const uint4* from, int64_t count, uint32_t* to) {
  uint32_t sum = 0;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += int64_t{gridDim.x} * blockDim.x) {
    const uint4 words = __ldcs(from + i);
    sum += words.x ^ words.y ^ words.z ^ words.w;
  }
  if (sum == 1) *to = sum;
}

/// Seconds of the median of some rounds, after one that isn't counted.
template <typename Run>
double median_seconds(const Run& run) {
  cudaEvent_t begin;
  cudaEvent_t end;
  check(cudaEventCreate(&begin), "cudaEventCreate");
  check(cudaEventCreate(&end), "cudaEventCreate");
  run();
  std::vector<float> rounds(kRounds);
  for (float& milliseconds : rounds) {
    check(cudaEventRecord(begin), "cudaEventRecord");
    run();
    check(cudaEventRecord(end), "cudaEventRecord");
    check(cudaEventSynchronize(end), "a round");
    check(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
  }
  std::nth_element(rounds.begin(), rounds.begin() + kRounds / 2, rounds.end());
  return static_cast<double>(rounds[kRounds / 2]) / 1e3;
}

/// A product of square matrices as the engine asks for it: bf16 in, float sums, the second one transposed.
double product_seconds(const void* a, const void* b, void* out) {
  cublasLtHandle_t handle;
  check(cublasLtCreate(&handle), "cublasLtCreate");
  cublasLtMatmulDesc_t product;
  check(cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F), "cublasLtMatmulDescCreate");
  const cublasOperation_t transposed = CUBLAS_OP_T;
  check(cublasLtMatmulDescSetAttribute(product, CUBLASLT_MATMUL_DESC_TRANSA, &transposed, sizeof(transposed)),
        "transpose");
  cublasLtMatrixLayout_t in;
  cublasLtMatrixLayout_t sums;
  check(cublasLtMatrixLayoutCreate(&in, CUDA_R_16BF, kSide, kSide, kSide), "layout");
  check(cublasLtMatrixLayoutCreate(&sums, CUDA_R_16BF, kSide, kSide, kSide), "layout");
  constexpr size_t kWorkspace = size_t{64} << 20;
  void* const workspace = allocate(kWorkspace);
  cublasLtMatmulPreference_t preference;
  check(cublasLtMatmulPreferenceCreate(&preference), "preference");
  check(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &kWorkspace,
                                             sizeof(kWorkspace)),
        "preference");
  cublasLtMatmulHeuristicResult_t found;
  int count = 0;
  check(cublasLtMatmulAlgoGetHeuristic(handle, product, in, in, sums, sums, preference, 1, &found, &count),
        "algorithm");
  const float one = 1;
  const float zero = 0;
  return median_seconds([&] {
    check(cublasLtMatmul(handle, product, &one, a, in, b, in, &zero, out, sums, out, sums, &found.algo, workspace,
                         kWorkspace, nullptr),
          "cublasLtMatmul");
  });
}

}  // namespace

int main() {
  int count = 0;
  const cudaError_t counted = cudaGetDeviceCount(&count);
  if (counted != cudaSuccess) {
    std::printf("no device: %s\n", cudaGetErrorString(counted));
    return kSkipped;
  }
  cudaDeviceProp device{};
  check(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  const int blocks = device.multiProcessorCount * kBlocksPerProcessor;
  auto* const from = static_cast<uint4*>(allocate(kBytes));
  auto* const to = static_cast<uint4*>(allocate(kBytes));
  constexpr int64_t kPieces = kBytes / static_cast<int64_t>(sizeof(uint4));
  // As bf16: no exponents of infinities or NaNs.
  fill<<<blocks, kThreads>>>(from, kPieces, 0xbf7fbf7fU);
  check(cudaDeviceSynchronize(), "fill");

  const double read_s =
      median_seconds([&] { read<<<blocks, kThreads>>>(from, kPieces, reinterpret_cast<uint32_t*>(to)); });
  const double copy_s =
      median_seconds([&] { check(cudaMemcpyAsync(to, from, kBytes, cudaMemcpyDeviceToDevice), "cudaMemcpyAsync"); });
  const double product_s = product_seconds(from, from + kSide * kSide * 2 / static_cast<int64_t>(sizeof(uint4)), to);
  check(cudaGetLastError(), "a kernel");
  const auto flops = 2.0 * kSide * kSide * kSide;
  std::printf(
      "{\"device\": \"%s\", \"read_bytes_per_second\": %.4e, \"copy_bytes_per_second\": %.4e, "
      "\"bf16_flops_per_second\": %.4e}\n",
      device.name, kBytes / read_s, 2 * kBytes / copy_s, flops / product_s);
  return 0;
}
