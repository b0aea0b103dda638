#include "bench/sse_reader.h"

namespace sluice::bench {

bool SseReader::read(std::string_view bytes) {
  while (!is_bad_ && !bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      partial_ += bytes;
      is_bad_ = partial_.size() > kEventBytesMax;
      break;
    }
    // Most lines come whole, and need no copy.
    if (partial_.empty()) {
      is_bad_ = !read_line(bytes.substr(0, end));
    } else {
      partial_ += bytes.substr(0, end);
      is_bad_ = !read_line(partial_);
      partial_.clear();
    }
    bytes.remove_prefix(end + 1);
  }
  return !is_bad_;
}

bool SseReader::read_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty()) {
    end_event();
    return true;
  }
  const size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
    return data_.size() <= kEventBytesMax;
  }
  // A line that begins with a colon is a comment.
  return field.empty() || field == "event" || field == "id" || field == "retry";
}

void SseReader::end_event() {
  if (has_data_) on_data_(data_);
  data_.clear();
  has_data_ = false;
}

}  // namespace sluice::bench
