#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/cuda/cuda_backend.h"
#include "engine/rank_backends.h"

namespace sluice::engine::cuda {

/// The file that the CUDA backend is, and the one symbol that it exports: a function of type PluginEntry.
inline constexpr char kPluginFile[] = "libsluice_cuda.so";
inline constexpr char kPluginEntry[] = "sluice_cuda_plugin";

/// NVIDIA's library of sums between GPUs, as the loader finds it.
inline constexpr char kNcclFile[] = "libnccl.so.2";
/// Devices up to which ProductOptions::is_batch_invariant holds. What two numbers add up to doesn't depend on their
/// order, and in which order NCCL adds up more depends on where in a step they are.
inline constexpr int32_t kInvariantDevicesMax = 2;

/// How a device computes products.
struct ProductOptions {
  /// One algorithm for each shape of a matrix whatever the number of rows, and none that splits a sum: what a row gets
  /// doesn't depend on how many others there are. Without it few rows and many are computed by different algorithms,
  /// each the fastest for its number, which round differently.
  bool is_batch_invariant = false;
};

struct PluginOptions {
  int32_t ordinal = 0;       ///< of the first device, as CUDA numbers them
  int32_t device_count = 1;  ///< that share a model, a rank each, from that one on
  CudaOptions backend;
  ProductOptions products;
  std::string nccl_file = kNcclFile;  ///< opened for more than one device only
};

/// What libsluice_cuda.so does for the program that opens it. C++ objects go from one to the other, so both are of one
/// version, one compiler and the same headers; all memory comes from the C++ library that they share.
struct Plugin {
  /// plugin_abi() of its build. The first member in every version, and the only one to be read before it is compared.
  const char* abi;
  /// The devices in CUDA's order, as "NVIDIA H200, 139 GiB". FAILED_PRECONDITION when CUDA finds no driver or no
  /// device.
  Result<std::vector<std::string>> (*devices)();
  /// Backends that own their devices. FAILED_PRECONDITION for a device without what the kernels need or without
  /// products of backend.element, and for several when there is no NCCL here; otherwise what NCCL has against
  /// connecting them.
  Result<RankBackends> (*open)(const PluginOptions& options);
};

using PluginEntry = const Plugin*();

/// Of the headers of base/, engine/ and engine/cuda/ that this program or plugin is compiled from: two of one digest
/// agree on what crosses between them. Made by the build (cmake/header_digest.cmake).
std::string_view header_digest();

/// Of a program or a plugin of Sluice's `version` that is compiled by this compiler from headers of this digest.
inline std::string plugin_abi(std::string_view version, std::string_view headers) {
  return "Sluice " + std::string(version) + ", compiled by " __VERSION__ " from headers " + std::string(headers);
}

}  // namespace sluice::engine::cuda
