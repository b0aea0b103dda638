#include "server/backend_choice.h"

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "engine/cuda/cuda_support.h"
#include "engine/cuda/open_plugin.h"
#include "server/device_name.h"
#include "server/rank_backends.h"

namespace sluice::server {
namespace {

/// Rows up to which reading a matrix is all that a product takes.
constexpr int32_t kGemvRowsMax = 4;
/// The same of matrices in blocks: for more rows a matrix is read, written as numbers and read again.
constexpr int32_t kBlockGemvRowsMax = 8;

Result<engine::RankBackends> open_cuda(const EngineSection& section, int32_t ordinal) {
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return failed_precondition("where this program lies can't be read: " + error.message());
  const std::vector<std::filesystem::path> folders = engine::cuda::plugin_folders(program);
  const engine::cuda::ProductOptions products{.is_batch_invariant = section.cuda_batch_invariant};
  return engine::cuda::open_cuda_backends(folders, {.ordinal = ordinal,
                                                    .device_count = section.tensor_parallel,
                                                    .backend = cuda_options(section),
                                                    .products = products});
}

/// A GPU that isn't there is told before what it couldn't serve.
Result<engine::RankBackends> use_cuda(const Config& config, const engine::ModelConfig& model, int32_t ordinal) {
  SLUICE_ASSIGN_OR_RETURN(engine::RankBackends opened, open_cuda(config.engine, ordinal));
  SLUICE_RETURN_IF_ERROR(engine::cuda::check_support(model, kv_type(config.kv), config.kv.block_size));
  return opened;
}

Result<engine::RankBackends> use_cpu(const Config& config, const Clock& clock) {
  if (kv_type(config.kv) == engine::KvType::kFp8)
    return invalid_field("kv.dtype", "is fp8, which can't be had on the CPU; use int8");
  return open_rank_backends(config.engine, clock);
}

}  // namespace

engine::CudaOptions cuda_options(const EngineSection& section) {
  const bool keeps_blocks = section.cuda_weights == "stored";
  const int32_t gemv_rows_max = keeps_blocks ? kBlockGemvRowsMax : kGemvRowsMax;
  return {.element = section.cuda_weights == "fp8" ? engine::cuda::Element::kFp8 : engine::cuda::Element::kBf16,
          .keeps_blocks = keeps_blocks,
          .gemv_rows_max = section.cuda_batch_invariant ? 0 : gemv_rows_max};
}

Result<engine::RankBackends> choose_backends(const Config& config, const engine::ModelConfig& model,
                                             const LoadEnvironment& environment) {
  const std::string& device = config.engine.device;
  SLUICE_ASSIGN_OR_RETURN(const DeviceName name, parse_device_name(device));
  if (name.kind == DeviceName::Kind::kCpu) return use_cpu(config, environment.clock);
  Result<engine::RankBackends> opened = use_cuda(config, model, name.ordinal);
  if (opened.ok()) return opened;
  if (name.kind == DeviceName::Kind::kCuda)
    return invalid_field("engine.device", "is " + device + ", but " + opened.status().message());
  environment.logger.info("no GPU is used, the model runs on the CPU", {{"reason", opened.status().message()}});
  return use_cpu(config, environment.clock);
}

}  // namespace sluice::server
