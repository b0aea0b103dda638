#include "server/model_check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "engine/cpu/available_threads.h"
#include "engine/rank.h"
#include "engine/tensor_check.h"
#include "engine/watched_checkpoint.h"
#include "server/process_memory.h"

namespace sluice::server {
namespace {

constexpr int32_t kStepTokens = 8;  // or as many as a block holds

std::string mib(int64_t bytes) {
  char text[48];
  std::snprintf(text, sizeof(text), "%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return text;
}

std::string line(const std::string& name, const std::string& value) {
  return name + std::string(name.size() < 15 ? 15 - name.size() : 1, ' ') + value + "\n";
}

std::string tensor_text(const engine::TensorSource& tensors) {
  std::string text;
  for (const auto& [type, total] : engine::tensor_totals(tensors)) {
    text += (text.empty() ? "" : ", ") + std::to_string(total.tensors) + " of " + engine::tensor_type_name(type) +
            " (" + mib(total.bytes) + ")";
  }
  return text;
}

std::string layer_text(const engine::ModelConfig& model) {
  std::string text = std::to_string(model.layer_count);
  if (model.window > 0) {
    const auto windows = std::ranges::count(model.layer_has_window, true);
    text += ", " + std::to_string(windows) + " of them with a window of " + std::to_string(model.window) + " tokens";
  }
  if (model.experts.count > 0) {
    text += ", with " + std::to_string(model.experts.count) + " experts, " + std::to_string(model.experts.per_token) +
            " for each token";
  }
  return text;
}

/// A prompt of tokens from all over the vocabulary, alone in the cache: group g of layers has block g.
engine::Batch small_batch(const engine::ModelConfig& model, const engine::KvLayout& layout,
                          const engine::SamplingParams& params) {
  engine::Batch batch;
  const int32_t count = std::min({kStepTokens, layout.block_size, model.context_length});
  for (int32_t i = 0; i < count; ++i) {
    batch.token_ids.push_back(static_cast<int32_t>(int64_t{model.vocab_size - 1} * i / count));
    batch.positions.push_back(i);
  }
  for (int32_t group = 0; group < layout.groups.count(); ++group) {
    for (int32_t i = 0; i < count; ++i) batch.slots.push_back(group * layout.block_size + i);
    batch.block_ids.push_back(group);
  }
  batch.row_begin = {0, count};
  batch.context_lengths = {count};
  batch.table_begin = {0, 1};
  engine::SampleRow sample;
  sample.token_index = count - 1;
  sample.params = &params;
  batch.samples = {sample};
  return batch;
}

Status check_step(engine::ParallelModel model, const engine::KvLayout& layout) {
  const engine::ModelConfig config = model.config();
  SLUICE_ASSIGN_OR_RETURN(const auto executor,
                          engine::ParallelModel::make_executor(std::move(model), layout, layout.groups.count()));
  engine::SamplingParams params;
  params.temperature = 0;
  params.top_logprobs = engine::SamplingParams::kTopLogprobsMax;
  const engine::Batch batch = small_batch(config, layout, params);
  SLUICE_ASSIGN_OR_RETURN(const engine::StepOutput output, executor->step(batch));
  const engine::SampledToken& token = output.samples.front();
  // A log-probability has the sum over the whole vocabulary in it: no logit that isn't finite leaves it finite.
  const bool is_finite = std::isfinite(token.logprob) && std::ranges::all_of(token.top, [](const auto& alternative) {
                           return std::isfinite(alternative.logprob);
                         });
  return is_finite ? Status() : internal_error("a step of the model gives scores that are not finite numbers");
}

/// "none" is fine; anything else that keeps it from being used isn't.
Result<std::string> template_text(const engine::Checkpoint& checkpoint) {
  const Status status = checkpoint.chat_template().status();
  if (status.code() == StatusCode::kNotFound) return std::string("none");
  SLUICE_RETURN_IF_ERROR(status);
  return std::string("yes");
}

}  // namespace

Result<std::string> check_model(const Config& config, const LoadEnvironment& environment) {
  SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, engine::Checkpoint::open(config.model.path));
  SLUICE_ASSIGN_OR_RETURN(const engine::ModelConfig model, checkpoint->config());
  SLUICE_RETURN_IF_ERROR(engine::check_rank_count(model, config.engine.tensor_parallel));
  SLUICE_ASSIGN_OR_RETURN(const auto tokenizer, checkpoint->tokenizer());
  SLUICE_ASSIGN_OR_RETURN(const std::string chat, template_text(*checkpoint));
  const int32_t threads = config.engine.threads > 0 ? config.engine.threads : engine::available_threads();
  SLUICE_RETURN_IF_ERROR(engine::check_tensor_values(checkpoint->tensors(), threads));
  SLUICE_ASSIGN_OR_RETURN(engine::ParallelModel loaded, load_weights(config, *checkpoint, environment));
  const ProcessMemory memory = process_memory();
  const engine::KvLayout layout = kv_layout(config, model);
  std::string text = line("model", loaded.config().name) + line("architecture", model.architecture) +
                     line("parameters", std::to_string(loaded.parameter_count())) +
                     line("tensors", tensor_text(checkpoint->tensors())) + line("layers", layer_text(model)) +
                     line("context", std::to_string(model.context_length) + " tokens") +
                     line("vocabulary", std::to_string(model.vocab_size) + " tokens") +
                     line("end tokens", std::to_string(tokenizer->end_ids().size())) + line("chat template", chat) +
                     line("KV cache", std::to_string(layout.token_bytes()) + " bytes per token as " + config.kv.dtype) +
                     line("device", loaded.description());
  SLUICE_RETURN_IF_ERROR(check_step(std::move(loaded), layout));
  text += line("memory", mib(memory.resident_bytes) + " after loading, " + mib(memory.peak_bytes) + " at most, for " +
                             mib(engine::stored_bytes(checkpoint->tensors())) + " of weights");
  return text + line("verified", "every value is finite, and a step's scores are");
}

}  // namespace sluice::server
