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
#include "engine/tensor_source.h"

namespace sluice::engine {

class MappedFile;

/// One array of metadata. Integers of all widths and bools are widened to int64 (uint64 above 2^63 is refused), floats
/// to double.
using GgufArray = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string_view>>;
/// Strings point into the mapped file.
using GgufValue = std::variant<int64_t, double, bool, std::string_view, GgufArray>;

/// A GGUF model (version 2 or 3) in one file or split over several, mapped and read-only. Every count, offset and size
/// is checked against the bytes of the file before it is used, so a damaged file gives a Status and never a crash, and
/// memory stays in proportion to the file's real size. Format:
/// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md Movable; thread-safe once open. Everything it hands out
/// lives as long as it does.
class GgufFile final : public TensorSource {
 public:
  /// `path` is the file, or any part of a split model (see gguf_parts.h). Errors name the file and what is wrong with
  /// it on one line.
  static Result<GgufFile> open(const std::string& path);
  /// Only the metadata, of a file whose tensors may be cut off or unknown: tensors() is empty.
  static Result<GgufFile> open_metadata(const std::string& path);

  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;
  ~GgufFile() override;

  const std::string& path() const override { return path_; }

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

  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find_tensor(std::string_view name) const override;
  std::string spelling(std::string_view name) const override { return std::string(name); }
  void drop_pages() const override;

 private:
  GgufFile();

  std::string path_;
  std::vector<std::unique_ptr<MappedFile>> files_;  ///< in the order of the parts
  std::map<std::string_view, GgufValue> metadata_;
  std::vector<StoredTensor> tensors_;
  std::map<std::string_view, size_t> tensor_index_;
};

}  // namespace sluice::engine
