#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace sluice::engine {

class GgufFile;
struct GgufTensor;

/// Takes a model's tensors out of a file by name and shape, and knows in the end which ones nobody asked for.
class WeightPicker {
 public:
  /// The file is lent.
  explicit WeightPicker(const GgufFile& file) : file_(&file) {}

  /// The tensor, which must be there with this shape (innermost dimension first, as in the file). Errors name tensor
  /// and shapes.
  Result<const GgufTensor*> take(const std::string& name, std::initializer_list<int64_t> shape);
  bool has(std::string_view name) const;

  /// What was taken so far has been copied: the file need not stay in memory beside it.
  void drop_pages() const;

  /// Names of the tensors never taken, in the file's order.
  std::vector<std::string> left_over() const;

 private:
  const GgufFile* file_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace sluice::engine
