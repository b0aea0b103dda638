#include "cli/text_input.h"

#include <array>

#include <nlohmann/json.hpp>

#include "base/parse_number.h"

namespace sluice::cli {

Result<std::string> read_argument(const std::string& argument, std::istream& in) {
  if (argument != "-") return argument;
  std::string text;
  std::array<char, 4096> piece;
  // By the stream, not by its buffer: the standard library's throws when it can't read.
  while (in.read(piece.data(), piece.size()) || in.gcount() > 0) {
    text.append(piece.data(), static_cast<size_t>(in.gcount()));
  }
  if (in.bad()) return unavailable("reading stdin failed");
  return text;
}

Status check_utf8(std::string_view text, std::string_view what) {
  // The JSON writer validates what it writes, and throws.
  try {
    static_cast<void>(nlohmann::json(text).dump());
  } catch (const nlohmann::json::type_error&) {
    return invalid_argument(std::string(what) + " is not valid UTF-8: convert it first, e.g. with iconv -t UTF-8");
  }
  return {};
}

Result<std::vector<int32_t>> parse_ids(std::string_view text) {
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  std::vector<int32_t> ids;
  for (size_t begin = text.find_first_not_of(kSeparators); begin != std::string_view::npos;
       begin = text.find_first_not_of(kSeparators, begin)) {
    const std::string_view word = text.substr(begin, text.find_first_of(kSeparators, begin) - begin);
    const auto id = parse_number<int32_t>(word);
    if (!id)
      return invalid_argument("'" + std::string(word) + "' is not a token id; write ids as \"1 2 3\" or \"1,2,3\"");
    ids.push_back(*id);
    begin += word.size();
  }
  return ids;
}

Result<LogitBias> parse_logit_bias(std::string_view text) {
  const size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const auto id = parse_number<int32_t>(text.substr(0, colon));
    const auto bias = parse_number<float>(text.substr(colon + 1));
    if (id && bias) return LogitBias{.id = *id, .bias = *bias};
  }
  return invalid_argument("--logit-bias '" + std::string(text) + "' is not ID:BIAS, e.g. 504:-100");
}

}  // namespace sluice::cli
