#pragma once

#include <cstdio>
#include <memory>
#include <string>

namespace sluice::server {

/// A file of this test's own, for code that writes to one.
class KeptFile {
 public:
  std::FILE* get() const { return file_.get(); }
  /// All that was written so far.
  std::string text() const {
    std::rewind(get());
    std::string text;
    for (int c = std::fgetc(get()); c != EOF; c = std::fgetc(get())) text += static_cast<char>(c);
    return text;
  }

 private:
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file_{std::tmpfile(), &std::fclose};
};

}  // namespace sluice::server
