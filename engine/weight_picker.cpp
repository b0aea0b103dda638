#include "engine/weight_picker.h"

#include <algorithm>

#include "base/check.h"
#include "engine/tensor_source.h"

namespace sluice::engine {
namespace {

std::string shape_text(std::span<const int64_t> shape) {
  std::string text = "[";
  for (const int64_t extent : shape) {
    if (text.size() > 1) text += ", ";
    text += std::to_string(extent);
  }
  return text + "]";
}

}  // namespace

Status check_shape(const TensorSource& source, const StoredTensor& tensor, std::span<const int64_t> shape) {
  if (std::ranges::equal(shape, tensor.shape)) return Status();
  return invalid_argument(source.path() + ": tensor " + source.spelling(tensor.name) + " has shape " +
                          shape_text(tensor.shape) + ", the model's metadata ask for " + shape_text(shape));
}

Result<const StoredTensor*> WeightPicker::take(const std::string& name, std::initializer_list<int64_t> shape) {
  const StoredTensor* tensor = source_->find_tensor(name);
  if (tensor == nullptr)
    return invalid_argument(source_->path() + ": tensor " + source_->spelling(name) + " is missing");
  SLUICE_RETURN_IF_ERROR(check_shape(*source_, *tensor, {shape.begin(), shape.size()}));
  taken_.insert(name);
  return tensor;
}

Result<std::vector<float>> WeightPicker::take_vector(const std::string& name, int64_t length) {
  SLUICE_ASSIGN_OR_RETURN(const StoredTensor* tensor, take(name, {length}));
  if (traits_of(tensor->type).block_elements != 1) {
    return invalid_argument(source_->path() + ": tensor " + source_->spelling(name) + " has type " +
                            tensor_type_name(tensor->type) + "; only F32, F16 and BF16 work here");
  }
  std::vector<float> values(static_cast<size_t>(length));
  std::vector<std::byte> made;
  dequantize(tensor->type, tensor->read_rows(0, 1, made), values);
  return values;
}

bool WeightPicker::has(std::string_view name) const {
  return source_->find_tensor(name) != nullptr;
}

void WeightPicker::drop_pages(int64_t unread_bytes) const {
  source_->drop_pages();
  tell_unread(unread_bytes);
}

void WeightPicker::tell_unread(int64_t bytes) const {
  source_->tell_unread(bytes);
}

std::vector<std::string> WeightPicker::left_over() const {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : source_->tensors()) {
    if (!taken_.contains(tensor.name)) names.push_back(source_->spelling(tensor.name));
  }
  return names;
}

}  // namespace sluice::engine
