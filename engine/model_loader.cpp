#include "engine/model_loader.h"

#include <string>
#include <utility>

#include "engine/gguf.h"
#include "engine/llama.h"
#include "engine/weight_picker.h"

namespace sluice::engine {
namespace {

Status refuse_left_over(const GgufFile& file, const WeightPicker& weights, const ModelConfig& config) {
  const std::vector<std::string> names = weights.left_over();
  if (names.empty()) return Status();
  std::string message =
      file.path() + ": tensor " + names.front() + " is not part of the architecture " + config.architecture;
  if (names.size() > 1) message += ", and so are " + std::to_string(names.size() - 1) + " more";
  return invalid_argument(std::move(message));
}

}  // namespace

Result<LoadedModel> load_model(const GgufFile& file, std::unique_ptr<Backend> backend, int32_t tokens_max) {
  SLUICE_CHECK(tokens_max > 0);
  SLUICE_ASSIGN_OR_RETURN(const ModelConfig config, ModelConfig::from_gguf(file));
  WeightPicker weights(file);
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Llama::load(weights, config, *backend, tokens_max));
  SLUICE_RETURN_IF_ERROR(refuse_left_over(file, weights, config));
  int64_t parameters = 0;
  for (const GgufTensor& tensor : file.tensors()) parameters += tensor.row_length() * tensor.row_count();
  return LoadedModel{config, std::move(backend), std::move(model), parameters, tokens_max};
}

}  // namespace sluice::engine
