#include "server/config_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include <nlohmann/json.hpp>

namespace sluice::server {
namespace {

Status mistyped(std::string_view key, std::string_view type, const ConfigScalar& value) {
  const std::string given = '"' + shown(value.text) + '"';
  const std::string_view hint = value.is_quoted ? " in quotes" : "";
  return invalid_field(std::string(key), "must be " + std::string(type) + ", not " + given + std::string(hint));
}

/// True when all of the text is a number that fits; only then is `number` meaningful.
template <typename Number>
bool parse_number(const ConfigScalar& value, Number& number) {
  const char* const end = value.text.data() + value.text.size();
  const auto [stop, error] = std::from_chars(value.text.data(), end, number);
  return error == std::errc() && stop == end && !value.is_quoted;
}

template <typename Whole>
Status read_whole(std::string_view key, const ConfigScalar& value, std::string_view type, Whole& field) {
  Whole number = 0;
  if (!parse_number(value, number)) return mistyped(key, type, value);
  field = number;
  return {};
}

bool is_control(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

Status read_value(std::string_view key, const ConfigScalar& value, int32_t& field) {
  return read_whole(key, value, "a whole number that fits 32 bits", field);
}

Status read_value(std::string_view key, const ConfigScalar& value, int64_t& field) {
  return read_whole(key, value, "a whole number that fits 64 bits", field);
}

Status read_value(std::string_view key, const ConfigScalar& value, double& field) {
  double number = 0;
  if (!parse_number(value, number) || !std::isfinite(number)) return mistyped(key, "a number", value);
  field = number;
  return {};
}

Status read_value(std::string_view key, const ConfigScalar& value, bool& field) {
  const bool is_true = value.text == "true";
  if (value.is_quoted || (!is_true && value.text != "false")) return mistyped(key, "true or false", value);
  field = is_true;
  return {};
}

Status read_value(std::string_view key, const ConfigScalar& value, std::string& field) {
  if (std::any_of(value.text.begin(), value.text.end(), is_control))
    return mistyped(key, "one line without control characters", value);
  field = value.text;
  return {};
}

std::string write_value(int32_t value) {
  return std::to_string(value);
}

std::string write_value(int64_t value) {
  return std::to_string(value);
}

std::string write_value(double value) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  SLUICE_CHECK(error == std::errc());
  return {digits.data(), end};
}

std::string write_value(bool value) {
  return value ? "true" : "false";
}

std::string write_value(const std::string& value) {
  // A JSON string is a YAML double-quoted one. Bytes that are no UTF-8 become U+FFFD rather than an exception.
  return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string shown(std::string_view text, size_t bytes_max) {
  std::string result(text.substr(0, bytes_max));
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  if (text.size() > bytes_max) result += "...";
  return result;
}

}  // namespace sluice::server
