#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::jinja {

/// Who wrote a byte. What isn't known to be the template's counts as input.
enum class Origin : uint8_t {
  kInput,     ///< it came with the variables: a message, a tool, a role
  kTemplate,  ///< it stands in the template's source
};

/// UTF-8 that knows of each byte who wrote it. Everything that makes text of text keeps that, byte by byte.
class Text {
 public:
  /// The bytes from the end of the run before it, or from 0, to `end`.
  struct Run {
    size_t end = 0;
    Origin origin = Origin::kInput;
    friend bool operator==(const Run&, const Run&) = default;
  };

  Text() = default;
  Text(std::string_view bytes, Origin origin) { append(bytes, origin); }

  const std::string& bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  /// Neighbours differ, none is empty.
  std::span<const Run> runs() const { return runs_; }

  Origin origin_at(size_t index) const;
  /// kTemplate where all bytes are the template's.
  Origin origin() const;
  Text slice(size_t begin, size_t size) const;

  void append(std::string_view bytes, Origin origin);
  void append(const Text& text);
  void append(const Text& text, size_t begin, size_t size);
  /// Cuts the end off.
  void truncate(size_t size);

  /// Whether "+" escapes what it is put together with, as Python's Markup does.
  bool is_markup() const { return is_markup_; }
  void set_markup(bool is_markup) { is_markup_ = is_markup; }

 private:
  size_t run_of(size_t index) const;

  std::string bytes_;
  std::vector<Run> runs_;
  bool is_markup_ = false;
};

}  // namespace sluice::jinja
