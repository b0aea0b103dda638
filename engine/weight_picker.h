#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

class TensorSource;
struct StoredTensor;

/// INVALID_ARGUMENT names the source's tensor and both shapes unless it has this one (innermost dimension first, as
/// GGUF has it).
Status check_shape(const TensorSource& source, const StoredTensor& tensor, std::span<const int64_t> shape);

/// Takes a model's tensors out of its files by name and shape, and knows in the end which ones nobody asked for.
class WeightPicker {
 public:
  /// The source is lent.
  explicit WeightPicker(const TensorSource& source) : source_(&source) {}

  /// The tensor, which must be there with this shape. Errors name tensor and shapes.
  Result<const StoredTensor*> take(const std::string& name, std::initializer_list<int64_t> shape);
  /// The values of a vector of F32, F16 or BF16, which must be there with this length.
  Result<std::vector<float>> take_vector(const std::string& name, int64_t length);
  bool has(std::string_view name) const;
  /// The configuration has what the tensor says.
  void skip(const std::string& name) { taken_.insert(name); }

  /// What was taken so far has been copied or will be read anew, and so many bytes of it are still to be read: the file
  /// need not stay in memory beside it.
  void drop_pages(int64_t unread_bytes) const;
  /// The same without giving memory back, where nobody has looked at the files in between.
  void tell_unread(int64_t bytes) const;

  /// Names of the tensors never taken, as the files spell them and in their order.
  std::vector<std::string> left_over() const;

 private:
  const TensorSource* source_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace sluice::engine
