#include "cli/text_lines.h"

#include <nlohmann/json.hpp>

namespace sluice::cli {
namespace {

using nlohmann::json;

Result<std::string> text_of_line(const std::string& line) {
  const json value = json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (!value.is_object() || !value.contains("text") || !value["text"].is_string()) {
    return invalid_argument("not a JSON object with a string \"text\"");
  }
  return value["text"].get<std::string>();
}

}  // namespace

Status answer_lines(std::istream& in, std::ostream& out,
                    const std::function<Result<std::vector<int32_t>>(const std::string& text)>& tokenize) {
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const Result<std::string> text = text_of_line(line);
    const Result<std::vector<int32_t>> ids = text.ok() ? tokenize(*text) : text.status();
    if (!ids.ok()) return ids.status().with_context("line " + std::to_string(number));
    out << json{{"ids", *ids}}.dump() << std::endl;
  }
  return in.bad() ? unavailable("reading stdin failed") : Status();
}

}  // namespace sluice::cli
