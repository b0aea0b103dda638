#include "engine/safetensors.h"

#include <utility>

#include "engine/mapped_file.h"

namespace sluice::engine {

SafetensorsFile::SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;
SafetensorsFile::~SafetensorsFile() = default;

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  SafetensorsFile file;
  file.path_ = path;
  SLUICE_ASSIGN_OR_RETURN(file.file_, MappedFile::open(path));
  Result<std::vector<SafetensorsEntry>> entries = parse_safetensors(file.file_->bytes());
  if (!entries.ok()) return entries.status().with_context(path);
  file.entries_ = std::move(entries).value();
  return file;
}

void SafetensorsFile::drop_pages() const {
  file_->drop_pages();
}

}  // namespace sluice::engine
