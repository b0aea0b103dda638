#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/plugin.h"

namespace sluice::engine::cuda {

/// Where the CUDA backend of a program may lie: in the program's own folder, else in the lib folder beside that.
std::vector<std::filesystem::path> plugin_folders(const std::filesystem::path& program);

/// Whether NVIDIA's driver is on this machine: FAILED_PRECONDITION with the loader's reason. Costs nothing, where the
/// plugin's first answer takes the better part of a second: libcublasLt is half a gigabyte.
Status check_driver();

/// Opens the first libsluice_cuda.so in the folders, which stays in this process to its end: what CUDA's libraries
/// keep in a process outlives them badly. FAILED_PRECONDITION names the file or the folders when it isn't there, can't
/// be loaded or comes from another build.
Result<const Plugin*> open_plugin(std::span<const std::filesystem::path> folders);

/// A backend on the plugin's device options.ordinal. FAILED_PRECONDITION names what devices there are when that isn't
/// one of them.
Result<std::unique_ptr<Backend>> open_device(const Plugin& plugin, const PluginOptions& options);

/// All of the above: a backend on a GPU of this machine, or the first reason why there is none.
Result<std::unique_ptr<Backend>> open_cuda_backend(std::span<const std::filesystem::path> folders,
                                                   const PluginOptions& options);

}  // namespace sluice::engine::cuda
