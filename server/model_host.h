#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/logger.h"
#include "base/status.h"
#include "engine/chat_template.h"
#include "engine/checkpoint.h"
#include "engine/executor.h"
#include "engine/kv_layout.h"
#include "engine/parallel_model.h"
#include "engine/tokenizer.h"
#include "kvcache/block_growth.h"
#include "server/config.h"
#include "server/served_model.h"

namespace sluice::server {

/// A model ready to be served: weights on their device, KV pool made. Movable; `served` points into it.
struct ModelHost {
  std::unique_ptr<engine::Tokenizer> tokenizer;
  Result<engine::ChatTemplate> chat_template = not_found("no model is loaded");  ///< or why there is none
  std::unique_ptr<engine::Executor> executor;
  ServedModel served;
  int32_t block_count = 0;      ///< of the KV pool
  kvcache::BlockGrowth growth;  ///< of its tables
  int64_t pool_bytes = 0;
};

/// What loading a model needs of its surroundings.
struct LoadEnvironment {
  const Clock& clock;             ///< lent; outlives the model
  Logger& logger;                 ///< lent
  std::FILE* terminal = nullptr;  ///< where somebody watches; lent
};

/// Of a configuration that is valid.
engine::KvType kv_type(const KvSection& section);
/// How the configuration wants the model's keys and values kept.
engine::KvLayout kv_layout(const Config& config, const engine::ModelConfig& model);

/// Takes the checkpoint's weights over to the configured device, shared out over the configured ranks, and logs what
/// that took in time and memory. Ranks that can't share the model are refused before any weight is read.
Result<engine::ParallelModel> load_weights(const Config& config, const engine::Checkpoint& checkpoint,
                                           const LoadEnvironment& environment);

/// Loads the configured model and sizes its KV pool from what memory is left then. Errors are one line that names the
/// file or the key and says what to do.
Result<ModelHost> load_model_host(const Config& config, const LoadEnvironment& environment, std::string_view version);

/// The device's memory as a table in the log, a line for each use.
void log_memory(const std::vector<engine::MemoryUse>& uses, Logger& logger);

/// Of all tokens; at least 1.
int32_t longest_token_bytes(const engine::Tokenizer& tokenizer);

}  // namespace sluice::server
