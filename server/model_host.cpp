#include "server/model_host.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/rank.h"
#include "engine/watched_checkpoint.h"
#include "server/backend_choice.h"
#include "server/cache_size.h"
#include "server/load_progress.h"
#include "server/memory_limit.h"
#include "server/process_memory.h"

namespace sluice::server {

namespace {

Result<int32_t> context_length(const ModelSection& section, const engine::ModelConfig& model) {
  if (section.max_context == 0) return model.context_length;
  if (section.max_context <= model.context_length) return section.max_context;
  return invalid_field("model.max_context",
                       "is " + std::to_string(section.max_context) + ", but the model was trained for " +
                           std::to_string(model.context_length) + " tokens; ask for no more, or 0");
}

Result<CacheMemory> cache_memory(const engine::ParallelModel& model, const engine::KvLayout& layout) {
  if (const auto on_device = model.cache_bytes_max(layout)) return CacheMemory{*on_device, true};
  SLUICE_ASSIGN_OR_RETURN(const int64_t available, available_memory_bytes());
  return CacheMemory{available, false};
}

void log_loaded(const LoadProgress& progress, int64_t bytes, Logger& logger) {
  const ProcessMemory memory = process_memory();
  logger.info("loaded the model", {{"weights_mib", std::to_string(bytes >> 20)},
                                   {"seconds", std::to_string(progress.seconds())},
                                   {"gb_per_second", gigabytes_per_second(bytes, progress.seconds())},
                                   {"memory_mib", std::to_string(memory.resident_bytes >> 20)},
                                   {"peak_memory_mib", std::to_string(memory.peak_bytes >> 20)}});
}

ServedModel describe(const Config& config, const engine::ParallelModel& model, std::string_view version) {
  ServedModel served;
  served.name = config.model.name.empty() ? model.config().name : config.model.name;
  served.architecture = model.config().architecture;
  served.device = model.description();
  served.version = version;
  served.parameter_count = model.parameter_count();
  return served;
}

int32_t tokens_in(int32_t blocks, const kvcache::BlockGrowth& growth) {
  return static_cast<int32_t>(std::min<int64_t>(growth.tokens_for(blocks), std::numeric_limits<int32_t>::max()));
}

}  // namespace

void log_memory(const std::vector<engine::MemoryUse>& uses, Logger& logger) {
  for (const auto& [purpose, bytes] : uses) {
    logger.info("device memory", {{"of", purpose}, {"mib", std::to_string(bytes >> 20)}});
  }
}

int32_t longest_token_bytes(const engine::Tokenizer& tokenizer) {
  size_t longest = 1;
  for (int32_t id = 0; id < tokenizer.vocab_size(); ++id) longest = std::max(longest, tokenizer.token_bytes(id).size());
  return static_cast<int32_t>(longest);
}

engine::KvType kv_type(const KvSection& section) {
  const auto type = engine::kv_type_from_name(section.dtype);
  SLUICE_CHECK(type.has_value());  // Config::validate() has seen it
  return *type;
}

engine::KvLayout kv_layout(const Config& config, const engine::ModelConfig& model) {
  return engine::KvLayout::for_model(model, config.kv.block_size, kv_type(config.kv),
                                     config.scheduler.step_tokens_max(config.kv.block_size));
}

Result<engine::ParallelModel> load_weights(const Config& config, const engine::Checkpoint& checkpoint,
                                           const LoadEnvironment& environment) {
  SLUICE_ASSIGN_OR_RETURN(const engine::ModelConfig shape, checkpoint.config());
  SLUICE_RETURN_IF_ERROR(engine::check_rank_count(shape, config.engine.tensor_parallel));
  const int64_t bytes = engine::stored_bytes(checkpoint.tensors());
  LoadProgress progress({environment.clock, environment.logger, environment.terminal, bytes});
  SLUICE_ASSIGN_OR_RETURN(engine::RankBackends ranks, choose_backends(config, shape, environment));
  Result<engine::ParallelModel> model =
      engine::ParallelModel::load(checkpoint, std::move(ranks), config.scheduler.step_tokens_max(config.kv.block_size),
                                  [&progress](int64_t done) { progress.advance(done); });
  progress.finish();
  if (model.ok()) log_loaded(progress, bytes, environment.logger);
  return model;
}

Result<ModelHost> load_model_host(const Config& config, const LoadEnvironment& environment, std::string_view version) {
  SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, engine::Checkpoint::open(config.model.path));
  ModelHost host;
  SLUICE_ASSIGN_OR_RETURN(host.tokenizer, checkpoint->tokenizer());
  host.chat_template = checkpoint->chat_template();
  SLUICE_ASSIGN_OR_RETURN(engine::ParallelModel model, load_weights(config, *checkpoint, environment));
  host.served = describe(config, model, version);
  host.served.tokenizer = host.tokenizer.get();
  host.served.longest_token_bytes = longest_token_bytes(*host.tokenizer);
  SLUICE_ASSIGN_OR_RETURN(host.served.context_length, context_length(config.model, model.config()));
  engine::KvLayout layout = kv_layout(config, model.config());
  layout.context_length = host.served.context_length;
  layout.rows_max = config.scheduler.max_running;
  SLUICE_ASSIGN_OR_RETURN(const CacheMemory memory, cache_memory(model, layout));
  SLUICE_ASSIGN_OR_RETURN(host.block_count, cache_block_count(config.kv, layout, memory));
  host.growth = kvcache::BlockGrowth::of(layout);
  host.pool_bytes = host.block_count * layout.block_bytes();
  host.served.limits = model.measure_limits(environment.clock);
  host.served.pool_tokens = tokens_in(host.block_count, host.growth);
  SLUICE_ASSIGN_OR_RETURN(host.executor,
                          engine::ParallelModel::make_executor(std::move(model), layout, host.block_count));
  log_memory(host.executor->memory_uses(), environment.logger);
  return host;
}

}  // namespace sluice::server
