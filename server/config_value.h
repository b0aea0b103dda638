#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace sluice::server {

/// One value as its source spells it.
struct ConfigScalar {
  std::string_view text;
  bool is_quoted = false;  ///< in quotes: a string, whatever it looks like
};

/// Reads a value into a field of its type, or leaves the field alone and says what `key` must be. Whole numbers are
/// decimal and must fit; a double is finite; a bool is true or false; a string has no control characters.
Status read_value(std::string_view key, const ConfigScalar& value, int32_t& field);
Status read_value(std::string_view key, const ConfigScalar& value, int64_t& field);
Status read_value(std::string_view key, const ConfigScalar& value, double& field);
Status read_value(std::string_view key, const ConfigScalar& value, bool& field);
Status read_value(std::string_view key, const ConfigScalar& value, std::string& field);

/// The value as YAML that read_value reads back: strings in double quotes, doubles with the fewest digits that keep
/// them.
std::string write_value(int32_t value);
std::string write_value(int64_t value);
std::string write_value(double value);
std::string write_value(bool value);
std::string write_value(const std::string& value);

/// Text from outside, fit for a one-line message: cut to `bytes_max` bytes, and anything but printable ASCII shown as
/// '?'.
std::string shown(std::string_view text, size_t bytes_max = 60);

}  // namespace sluice::server
