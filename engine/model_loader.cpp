#include "engine/model_loader.h"

#include <string>
#include <utility>

#include "engine/checkpoint.h"
#include "engine/decoder.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Status refuse_left_over(const TensorSource& source, const WeightPicker& weights, const ModelConfig& config) {
  const std::vector<std::string> names = weights.left_over();
  if (names.empty()) return Status();
  std::string message =
      source.path() + ": tensor " + names.front() + " is not part of the architecture " + config.architecture;
  if (names.size() > 1) message += ", and so are " + std::to_string(names.size() - 1) + " more";
  return invalid_argument(std::move(message));
}

}  // namespace

Result<LoadedModel> load_model(const Checkpoint& checkpoint, std::unique_ptr<Backend> backend, int32_t tokens_max) {
  SLUICE_CHECK(tokens_max > 0);
  SLUICE_ASSIGN_OR_RETURN(const ModelConfig config, checkpoint.config());
  const TensorSource& source = checkpoint.tensors();
  WeightPicker weights(source);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Decoder::load(weights, config, *backend, tokens_max));
  if (config.rope.scaling == RopeScaling::kDivisors) weights.skip("rope_freqs.weight");
  SLUICE_RETURN_IF_ERROR(refuse_left_over(source, weights, config));
  SLUICE_RETURN_IF_ERROR(model->rehearse(*backend));
  SLUICE_RETURN_IF_ERROR(backend->finish_weights([&weights](int64_t unread) { weights.tell_unread(unread); }));
  return LoadedModel{config, std::move(backend), std::move(model), tokens_max};
}

}  // namespace sluice::engine
