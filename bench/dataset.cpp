#include "bench/dataset.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

namespace sluice::bench {
namespace {

using Json = nlohmann::json;

constexpr size_t kBytesPerToken = 4;
constexpr std::string_view kBlank = " \t\r\n";

bool is_person(std::string_view from) {
  return from == "human" || from == "user";
}

bool is_model(std::string_view from) {
  constexpr std::array<std::string_view, 5> kModels{"gpt", "assistant", "chatgpt", "bing", "bard"};
  return std::find(kModels.begin(), kModels.end(), from) != kModels.end();
}

Result<std::string> text_member(const Json& entry, const char* name) {
  if (!entry.is_object()) return invalid_argument("an entry of \"conversations\" is not an object");
  const auto found = entry.find(name);
  if (found != entry.end() && found->is_string()) return found->get<std::string>();
  return invalid_argument("an entry of \"conversations\" has no text in \"" + std::string(name) + "\"");
}

Result<DatasetConversation> read_conversation(std::string_view text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return invalid_argument("is not a JSON object");
  const auto entries = json.find("conversations");
  if (entries == json.end() || !entries->is_array()) return invalid_argument("has no array \"conversations\"");
  DatasetConversation conversation;
  std::optional<std::string> prompt;
  for (const Json& entry : *entries) {
    SLUICE_ASSIGN_OR_RETURN(const std::string from, text_member(entry, "from"));
    SLUICE_ASSIGN_OR_RETURN(std::string value, text_member(entry, "value"));
    if (is_person(from)) {
      prompt = std::move(value);
    } else if (is_model(from) && prompt && !prompt->empty()) {
      conversation.turns.push_back({.prompt = std::move(*prompt), .answer = std::move(value)});
      prompt.reset();
    }
  }
  return conversation;
}

/// Walks over the elements of a JSON array without reading them, so that each can be told by its line.
class ArrayElements {
 public:
  explicit ArrayElements(std::string_view text) : text_(text) {
    skip_blank();
    ++at_;  // the bracket
  }

  /// The next element, or nothing at the array's end. Cut at the end of the text if the array has none.
  std::optional<std::string_view> next() {
    skip_blank();
    if (at_ < text_.size() && text_[at_] == ',') ++at_;
    skip_blank();
    line_of_element_ = line_;
    if (at_ >= text_.size() || text_[at_] == ']') return std::nullopt;
    const size_t begin = at_;
    int depth = 0;
    bool is_in_text = false;
    for (; at_ < text_.size(); step()) {
      const char c = text_[at_];
      if (is_in_text) {
        if (c == '\\') step();
        is_in_text = c != '"';
        continue;
      }
      if (depth == 0 && (c == ',' || c == ']')) break;
      is_in_text = c == '"';
      if (c == '{' || c == '[') ++depth;
      if (c == '}' || c == ']') --depth;
    }
    return text_.substr(begin, at_ - begin);
  }
  int64_t line() const { return line_of_element_; }
  /// Whether the array was closed with nothing after it, once next() has given nothing.
  bool is_whole() const {
    return at_ < text_.size() && text_.find_first_not_of(kBlank, at_ + 1) == std::string_view::npos;
  }

 private:
  void step() {
    if (at_ < text_.size() && text_[at_] == '\n') ++line_;
    ++at_;
  }
  void skip_blank() {
    while (at_ < text_.size() && kBlank.find(text_[at_]) != std::string_view::npos) step();
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  int64_t line_of_element_ = 1;
};

class Reader {
 public:
  explicit Reader(const std::string& name) : name_(name) {}

  Status add(std::string_view text, int64_t line) {
    Result<DatasetConversation> conversation = read_conversation(text);
    if (!conversation.ok()) return at_line(line, conversation.status().message());
    if (!conversation->turns.empty()) conversations_.push_back(std::move(*conversation));
    return {};
  }
  Status at_line(int64_t line, const std::string& problem) const {
    return invalid_argument(name_ + ":" + std::to_string(line) + ": " + problem);
  }
  Result<std::vector<DatasetConversation>> take() && {
    if (conversations_.empty())
      return invalid_argument(name_ + ": holds no conversation with a question and an answer");
    return std::move(conversations_);
  }

 private:
  const std::string& name_;
  std::vector<DatasetConversation> conversations_;
};

Status read_array(std::string_view text, Reader& reader) {
  ArrayElements elements(text);
  while (const std::optional<std::string_view> element = elements.next()) {
    SLUICE_RETURN_IF_ERROR(reader.add(*element, elements.line()));
  }
  if (elements.is_whole()) return {};
  return reader.at_line(elements.line(), "the array does not end, or something follows it");
}

Status read_lines(std::string_view text, Reader& reader) {
  for (int64_t line = 1; !text.empty(); ++line) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view content = text.substr(0, end);
    if (content.find_first_not_of(kBlank) != std::string_view::npos) SLUICE_RETURN_IF_ERROR(reader.add(content, line));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return {};
}

}  // namespace

int32_t estimate_tokens(const std::string& text) {
  return static_cast<int32_t>(
      std::min<size_t>((text.size() + kBytesPerToken - 1) / kBytesPerToken + (text.empty() ? 1 : 0), INT32_MAX));
}

Result<std::vector<DatasetConversation>> parse_dataset(const std::string& text, const std::string& name) {
  Reader reader(name);
  const size_t begin = text.find_first_not_of(kBlank);
  const bool is_array = begin != std::string::npos && text[begin] == '[';
  SLUICE_RETURN_IF_ERROR(is_array ? read_array(text, reader) : read_lines(text, reader));
  return std::move(reader).take();
}

Result<std::vector<DatasetConversation>> read_dataset(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": can't open this dataset: " + std::strerror(errno));
  std::ostringstream text;
  text << file.rdbuf();
  if (file.bad()) return invalid_argument(path + ": can't read this dataset");
  return parse_dataset(text.str(), path);
}

}  // namespace sluice::bench
