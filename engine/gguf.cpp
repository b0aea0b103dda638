#include "engine/gguf.h"

#include <utility>

#include "engine/gguf_parts.h"
#include "engine/mapped_file.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

Status wrong_type(const std::string& path, std::string_view key, std::string_view wanted) {
  return invalid_argument(path + ": metadata " + printable_name(key) + " is not " + std::string(wanted));
}

template <typename T>
Result<T> get(const GgufFile& file, std::string_view key, std::string_view wanted) {
  const GgufValue* value = file.find(key);
  if (value == nullptr) return invalid_argument(file.path() + ": metadata " + printable_name(key) + " is missing");
  const T* typed = std::get_if<T>(value);
  if (typed == nullptr) return wrong_type(file.path(), key, wanted);
  return *typed;
}

template <typename T>
Result<T> get_or(const GgufFile& file, std::string_view key, std::string_view wanted, T fallback) {
  if (file.find(key) == nullptr) return fallback;
  return get<T>(file, key, wanted);
}

constexpr std::string_view kInt = "a whole number";
constexpr std::string_view kFloat = "a floating-point number";

}  // namespace

GgufFile::GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;
GgufFile::~GgufFile() = default;

Result<GgufFile> GgufFile::open_metadata(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> mapped, MappedFile::open(path));
  Result<GgufContents> contents = parse_gguf_metadata(mapped->bytes());
  if (!contents.ok()) return contents.status().with_context(path);
  GgufFile file;
  file.path_ = path;
  file.metadata_ = std::move(contents->metadata);
  file.files_.push_back(std::move(mapped));
  return file;
}

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile file;
  file.path_ = path;
  SLUICE_ASSIGN_OR_RETURN(std::vector<GgufPart> parts, open_gguf_parts(path));
  file.metadata_ = std::move(parts.front().contents.metadata);
  for (GgufPart& part : parts) {
    for (auto& tensor : part.contents.tensors) {
      tensor.file = part.file.get();
      file.tensor_index_.emplace(tensor.name, file.tensors_.size());
      file.tensors_.push_back(std::move(tensor));
    }
    file.files_.push_back(std::move(part.file));
  }
  return file;
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto entry = metadata_.find(key);
  return entry == metadata_.end() ? nullptr : &entry->second;
}

Result<int64_t> GgufFile::get_int(std::string_view key) const {
  return get<int64_t>(*this, key, kInt);
}
Result<double> GgufFile::get_float(std::string_view key) const {
  return get<double>(*this, key, kFloat);
}
Result<std::string_view> GgufFile::get_string(std::string_view key) const {
  return get<std::string_view>(*this, key, "a string");
}
Result<int64_t> GgufFile::get_int_or(std::string_view key, int64_t fallback) const {
  return get_or(*this, key, kInt, fallback);
}
Result<double> GgufFile::get_float_or(std::string_view key, double fallback) const {
  return get_or(*this, key, kFloat, fallback);
}
Result<bool> GgufFile::get_bool_or(std::string_view key, bool fallback) const {
  return get_or(*this, key, "a bool", fallback);
}

void GgufFile::drop_pages() const {
  for (const auto& file : files_) file->drop_pages();
}

const StoredTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto entry = tensor_index_.find(name);
  return entry == tensor_index_.end() ? nullptr : &tensors_[entry->second];
}

}  // namespace sluice::engine
