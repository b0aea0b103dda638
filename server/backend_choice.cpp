#include "server/backend_choice.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "engine/cuda/open_plugin.h"
#include "server/device_name.h"
#include "server/rank_backends.h"

namespace sluice::server {
namespace {

/// Rows up to which reading a matrix is all that a product takes.
constexpr int32_t kGemvRowsMax = 4;

Result<engine::RankBackends> open_cuda(const EngineSection& section, int32_t ordinal) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return failed_precondition("where this program lies can't be read: " + error.message());
  const std::vector<std::filesystem::path> folders = engine::cuda::plugin_folders(program);
  const engine::cuda::ProductOptions products{.is_batch_invariant = section.cuda_batch_invariant};
  const engine::CudaOptions options{.gemv_rows_max = section.cuda_batch_invariant ? 0 : kGemvRowsMax};
  return engine::cuda::open_cuda_backends(
      folders, {.ordinal = ordinal, .device_count = section.tensor_parallel, .backend = options, .products = products});
}

}  // namespace

Result<engine::RankBackends> choose_backends(const EngineSection& engine, const LoadEnvironment& environment) {
  SLUICE_ASSIGN_OR_RETURN(const DeviceName name, parse_device_name(engine.device));
  if (name.kind == DeviceName::Kind::kCpu) return open_rank_backends(engine, environment.clock);
  Result<engine::RankBackends> opened = open_cuda(engine, name.ordinal);
  if (opened.ok()) return opened;
  if (name.kind == DeviceName::Kind::kCuda)
    return invalid_field("engine.device", "is " + engine.device + ", but " + opened.status().message());
  environment.logger.info("no GPU is used, the model runs on the CPU", {{"reason", opened.status().message()}});
  return open_rank_backends(engine, environment.clock);
}

}  // namespace sluice::server
