#include "engine/cuda/open_plugin.h"

#include <string>
#include <system_error>

#include <dlfcn.h>

namespace sluice::engine::cuda {
namespace {

constexpr char kDriver[] = "libcuda.so.1";

/// What the loader has against what it was asked for last.
std::string loader_reason() {
  const char* const reason = dlerror();
  return reason == nullptr ? "no reason is given" : reason;
}

Result<std::filesystem::path> find_plugin(std::span<const std::filesystem::path> folders) {
  std::string searched;
  for (const std::filesystem::path& folder : folders) {
    std::filesystem::path file = folder / kPluginFile;
    std::error_code error;
    if (std::filesystem::exists(file, error)) return file;
    searched += (searched.empty() ? "" : " or ") + folder.string();
  }
  return failed_precondition("there is no CUDA backend: no " + std::string(kPluginFile) + " in " + searched +
                             "; build with the preset cuda, or use the device cpu");
}

Status no_such_device(int32_t ordinal, const std::vector<std::string>& devices) {
  std::string list;
  for (size_t there = 0; there < devices.size(); ++there) {
    list += (there == 0 ? ", only cuda:" : ", cuda:") + std::to_string(there) + " (" + devices[there] + ")";
  }
  return failed_precondition("there is no device cuda:" + std::to_string(ordinal) + list);
}

Status check_device_count(const PluginOptions& options, const std::vector<std::string>& devices) {
  const auto found = static_cast<int32_t>(devices.size()) - options.ordinal;
  if (options.device_count > found) {
    return failed_precondition("asked for " + std::to_string(options.device_count) + " GPUs from cuda:" +
                               std::to_string(options.ordinal) + " on, found " + std::to_string(found));
  }
  if (options.products.is_batch_invariant && options.device_count > kInvariantDevicesMax) {
    return failed_precondition("sums between " + std::to_string(options.device_count) +
                               " GPUs depend on what else is in the batch; use " +
                               std::to_string(kInvariantDevicesMax) + ", or no cuda_batch_invariant");
  }
  return {};
}

}  // namespace

std::vector<std::filesystem::path> plugin_folders(const std::filesystem::path& program) {
  const std::filesystem::path folder = program.parent_path();
  return {folder, folder.parent_path() / "lib"};
}

Status check_driver() {
  void* const driver = dlopen(kDriver, RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr) return failed_precondition("this machine has no NVIDIA driver: " + loader_reason());
  dlclose(driver);
  return {};
}

Result<const Plugin*> open_plugin(std::span<const std::filesystem::path> folders) {
  SLUICE_ASSIGN_OR_RETURN(const std::filesystem::path file, find_plugin(folders));
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return failed_precondition("the CUDA backend can't be loaded: " + loader_reason());
  auto* const entry = reinterpret_cast<PluginEntry*>(dlsym(library, kPluginEntry));
  if (entry == nullptr) return failed_precondition(file.string() + " is no CUDA backend: " + loader_reason());
  const Plugin* const plugin = entry();
  if (const std::string own = plugin_abi(SLUICE_VERSION, header_digest()); plugin->abi != own) {
    return failed_precondition(file.string() + " is of another build: it is of \"" + plugin->abi +
                               "\", this program of \"" + own + "\"; install both from one build");
  }
  return plugin;
}

Result<RankBackends> open_devices(const Plugin& plugin, const PluginOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<std::string> devices, plugin.devices());
  const bool is_there = options.ordinal >= 0 && static_cast<size_t>(options.ordinal) < devices.size();
  if (!is_there) return no_such_device(options.ordinal, devices);
  SLUICE_RETURN_IF_ERROR(check_device_count(options, devices));
  return plugin.open(options);
}

Result<RankBackends> open_cuda_backends(std::span<const std::filesystem::path> folders, const PluginOptions& options) {
  SLUICE_RETURN_IF_ERROR(find_plugin(folders).status());
  SLUICE_RETURN_IF_ERROR(check_driver());
  SLUICE_ASSIGN_OR_RETURN(const Plugin* const plugin, open_plugin(folders));
  return open_devices(*plugin, options);
}

}  // namespace sluice::engine::cuda
