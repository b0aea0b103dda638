#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/status.h"
#include "engine/tensor_type.h"

namespace sluice::engine {

class MappedFile;

/// One array of metadata. Integers of all widths and bools are widened to int64 (uint64 above 2^63 is refused), floats
/// to double.
using GgufArray = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string_view>>;
/// Strings point into the mapped file.
using GgufValue = std::variant<int64_t, double, bool, std::string_view, GgufArray>;

struct GgufTensor {
  std::string_view name;
  TensorType type = TensorType::kF32;
  std::vector<int64_t>
      shape;  ///< as in the file: shape[0] is the contiguous (input) dimension; 1 to 4 entries, all > 0
  std::span<const std::byte> data;  ///< in the mapped file; its size is exactly that of the shape

  int64_t row_length() const { return shape[0]; }
  int64_t row_count() const;
};

/// A GGUF file (version 2 or 3), mapped and read-only. Every count, offset and size is checked against the bytes of the
/// file before it is used, so a damaged file gives a Status and never a crash, and memory stays in proportion to the
/// file's real size. Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md Movable; thread-safe once open.
/// Everything it hands out lives as long as it does.
class GgufFile {
 public:
  /// Errors name the file and what is wrong with it on one line.
  static Result<GgufFile> open(const std::string& path);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile();

  const std::string& path() const { return path_; }

  /// nullptr when the key is absent.
  const GgufValue* find(std::string_view key) const;
  /// The key must be there and have the type; the error names file and key.
  Result<int64_t> get_int(std::string_view key) const;
  Result<double> get_float(std::string_view key) const;
  Result<std::string_view> get_string(std::string_view key) const;
  /// `fallback` when the key is absent; an error when it is there with another type.
  Result<int64_t> get_int_or(std::string_view key, int64_t fallback) const;
  Result<double> get_float_or(std::string_view key, double fallback) const;
  Result<bool> get_bool_or(std::string_view key, bool fallback) const;

  /// In the file's order.
  std::span<const GgufTensor> tensors() const { return tensors_; }
  /// nullptr when there is no such tensor.
  const GgufTensor* find_tensor(std::string_view name) const;

  /// Gives back the memory of what was read so far; data that is looked at again is read again.
  void drop_pages() const;

 private:
  GgufFile();

  std::string path_;
  std::unique_ptr<MappedFile> file_;
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string_view, size_t> tensor_index_;
};

}  // namespace sluice::engine
