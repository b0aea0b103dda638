#include "engine/cuda/toolkit/nccl.h"

#include <dlfcn.h>

namespace sluice::engine::cuda {
namespace {

Status no_nccl() {
  const char* const reason = dlerror();
  return failed_precondition("several GPUs need NCCL to share a model, one works without: " +
                             std::string(reason == nullptr ? "no reason is given" : reason));
}

template <typename Function>
Status find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function == nullptr ? no_nccl() : Status();
}

}  // namespace

Result<Nccl> Nccl::open(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) return no_nccl();
  Nccl nccl;
  SLUICE_RETURN_IF_ERROR(find(library, "ncclGetErrorString", nccl.error_string));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclGetUniqueId", nccl.unique_id));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclGroupStart", nccl.group_start));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclGroupEnd", nccl.group_end));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclCommInitRankConfig", nccl.init_rank));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclCommGetAsyncError", nccl.async_error));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclAllReduce", nccl.all_reduce));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclCommDestroy", nccl.destroy));
  SLUICE_RETURN_IF_ERROR(find(library, "ncclCommAbort", nccl.abort));
  return nccl;
}

Status Nccl::status(ncclResult_t result, std::string_view what) const {
  if (result == ncclSuccess || result == ncclInProgress) return {};
  return internal_error(std::string(what) + ": " + error_string(result) + " (NCCL result " +
                        std::to_string(static_cast<int>(result)) + ")");
}

}  // namespace sluice::engine::cuda
