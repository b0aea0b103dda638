#pragma once

#include <memory>
#include <utility>

#include "engine/checkpoint.h"
#include "engine/rank_tensors.h"

namespace sluice::engine {

/// A checkpoint as one rank loads it: its run of the tensors, and the configuration of the smaller model that they are.
/// The other one is lent.
class RankCheckpoint final : public Checkpoint {
 public:
  /// INVALID_ARGUMENT as check_rank_count() and RankTensors::make() say. Reads no weights.
  static Result<std::unique_ptr<RankCheckpoint>> make(const Checkpoint& checkpoint, const Rank& rank) {
    SLUICE_ASSIGN_OR_RETURN(ModelConfig config, checkpoint.config());
    SLUICE_RETURN_IF_ERROR(check_rank_count(config, rank.count));
    SLUICE_ASSIGN_OR_RETURN(RankTensors tensors, RankTensors::make(checkpoint.tensors(), config, rank));
    return std::unique_ptr<RankCheckpoint>(
        new RankCheckpoint(checkpoint, rank_config(config, rank), std::move(tensors)));
  }

  const TensorSource& tensors() const override { return tensors_; }
  Result<ModelConfig> config() const override { return config_; }
  Result<std::unique_ptr<Tokenizer>> tokenizer() const override { return checkpoint_.tokenizer(); }
  Result<ChatTemplate> chat_template() const override { return checkpoint_.chat_template(); }

 private:
  RankCheckpoint(const Checkpoint& checkpoint, ModelConfig config, RankTensors tensors)
      : checkpoint_(checkpoint), config_(std::move(config)), tensors_(std::move(tensors)) {}

  const Checkpoint& checkpoint_;
  ModelConfig config_;
  RankTensors tensors_;
};

}  // namespace sluice::engine
