#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace sluice::bench {

/// Cuts a byte stream into server-sent events, however it arrives in pieces. Not thread-safe.
class SseReader {
 public:
  /// An event beyond this is garbage.
  static constexpr size_t kEventBytesMax = size_t{8} << 20;

  /// `on_data` is given each event's data, its lines joined by "\n"; events without data are passed over.
  explicit SseReader(std::function<void(std::string_view)> on_data) : on_data_(std::move(on_data)) {}

  /// False once what came is no event stream: a line with an unknown field, or one event of more than the limit. From
  /// then on nothing is read. Lines end in LF, CR LF or, other than the standard allows, not in a lone CR.
  bool read(std::string_view bytes);

 private:
  bool read_line(std::string_view line);
  void end_event();

  const std::function<void(std::string_view)> on_data_;
  std::string partial_;  // of a line whose end hasn't come
  std::string data_;
  bool has_data_ = false;
  bool is_bad_ = false;
};

}  // namespace sluice::bench
