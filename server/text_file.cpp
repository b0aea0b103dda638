#include "server/text_file.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace sluice::server {

Result<std::string> read_text_file(const std::string& path, size_t bytes_max) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) return not_found(path + ": there is no such file");
  if (!std::filesystem::is_regular_file(status)) return failed_precondition(path + ": is not a regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return failed_precondition(path + ": can't be opened: " + std::strerror(errno));
  std::string text(bytes_max + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return failed_precondition(path + ": can't be read");
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > bytes_max) {
    return failed_precondition(path + ": is longer than " + std::to_string(bytes_max) + " bytes");
  }
  return text;
}

}  // namespace sluice::server
