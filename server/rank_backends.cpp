#include "server/rank_backends.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "engine/cpu/available_threads.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/thread_communicators.h"

namespace sluice::server {

Result<engine::RankBackends> open_rank_backends(const EngineSection& engine, const Clock& clock) {
  engine::CpuOptions options{.threads = engine.threads, .isa = engine.cpu_isa, .clock = &clock};
  const int32_t count = engine.tensor_parallel;
  if (count > 1) {
    const int32_t threads = engine.threads > 0 ? engine.threads : engine::available_threads();
    options.threads = std::max(threads / count, 1);
  }
  auto group = std::make_unique<engine::ThreadCommunicators>(count);  // first: the backends have its communicators
  engine::RankBackends ranks;
  for (int32_t rank = 0; rank < count; ++rank) {
    if (count > 1) options.communicator = &group->of(rank);
    SLUICE_ASSIGN_OR_RETURN(auto backend, engine::make_cpu_backend(options));
    ranks.backends.push_back(std::move(backend));
  }
  if (count > 1) ranks.group = std::move(group);
  return ranks;
}

}  // namespace sluice::server
