#include "engine/weight_picker.h"

#include <algorithm>

#include "engine/gguf.h"

namespace sluice::engine {
namespace {

template <typename Shape>
std::string shape_text(const Shape& shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace

Result<const GgufTensor*> WeightPicker::take(const std::string& name, std::initializer_list<int64_t> shape) {
  const GgufTensor* tensor = file_->find_tensor(name);
  if (tensor == nullptr) return invalid_argument(file_->path() + ": tensor " + name + " is missing");
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    return invalid_argument(file_->path() + ": tensor " + name + " has shape " + shape_text(tensor->shape) +
                            ", the model's metadata ask for " + shape_text(shape));
  }
  taken_.insert(name);
  return tensor;
}

bool WeightPicker::has(std::string_view name) const {
  return file_->find_tensor(name) != nullptr;
}

void WeightPicker::drop_pages() const {
  file_->drop_pages();
}

std::vector<std::string> WeightPicker::left_over() const {
  std::vector<std::string> names;
  for (const GgufTensor& tensor : file_->tensors()) {
    if (!taken_.contains(tensor.name)) names.emplace_back(tensor.name);
  }
  return names;
}

}  // namespace sluice::engine
