#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/cuda/plugin.h"
#include "engine/rank_backends.h"

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

/// Backends on options.device_count of the plugin's devices. FAILED_PRECONDITION names what devices there are when
/// options.ordinal isn't one of them, and how many from there on when more are asked for; and when the options ask for
/// products that don't depend on the batch of more devices than can keep that.
Result<RankBackends> open_devices(const Plugin& plugin, const PluginOptions& options);

/// All of the above: backends on GPUs of this machine, or the first reason why there are none.
Result<RankBackends> open_cuda_backends(std::span<const std::filesystem::path> folders, const PluginOptions& options);

}  // namespace sluice::engine::cuda
