#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/safetensors_parser.h"

namespace sluice::engine {

class MappedFile;

/// A safetensors file, mapped and read-only. Movable; thread-safe once open. What it hands out lives as long as it
/// does.
class SafetensorsFile {
 public:
  /// Errors name the file and what is wrong with it on one line.
  static Result<SafetensorsFile> open(const std::string& path);

  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;
  ~SafetensorsFile();

  const std::string& path() const { return path_; }
  const MappedFile& file() const { return *file_; }
  /// In the order of their data.
  std::span<const SafetensorsEntry> entries() const { return entries_; }
  /// Gives back the memory of what was read so far; data that is looked at again is read again.
  void drop_pages() const;

 private:
  SafetensorsFile();

  std::string path_;
  std::unique_ptr<MappedFile> file_;
  std::vector<SafetensorsEntry> entries_;
};

}  // namespace sluice::engine
