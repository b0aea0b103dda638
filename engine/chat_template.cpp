#include "engine/chat_template.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>

#include "engine/gguf.h"
#include "engine/hf_tokenizer_config.h"
#include "engine/jinja/json.h"
#include "engine/jinja/template.h"
#include "engine/mapped_file.h"

namespace sluice::engine {
namespace {

constexpr int32_t kJsonDepthMax = 64;  // of what a client sends; well below what a template may nest
constexpr std::array<std::string_view, 5> kOwnVariables = {"messages", "tools", "documents", "add_generation_prompt",
                                                           "continue_final_message"};

using jinja::Kind;
using jinja::Origin;
using jinja::Value;

Result<Value> json_part(const std::string& text, std::string_view field) {
  const Result<Value> value = jinja::parse_json(text, kJsonDepthMax);
  if (!value.ok()) return invalid_field(std::string(field), value.status().message());
  return value;
}

bool is_list(const Value& value) {
  return value.is(Kind::kSequence);
}

Result<Value> list_part(const std::optional<std::string>& text, std::string_view field) {
  if (!text) return Value();
  SLUICE_ASSIGN_OR_RETURN(Value value, json_part(*text, field));
  if (!is_list(value) && !value.is(Kind::kNone)) return invalid_field(std::string(field), "must be an array");
  return value;
}

Result<Value> messages_part(const std::string& text) {
  SLUICE_ASSIGN_OR_RETURN(Value value, json_part(text, "messages"));
  if (!is_list(value) || value.sequence().items.empty()) {
    return invalid_field("messages", "must be an array with a message at least");
  }
  for (const Value& message : value.sequence().items) {
    if (!message.is(Kind::kDict)) return invalid_field("messages", "must be an array of objects");
  }
  return value;
}

void set(jinja::Dict& variables, std::string_view name, Value value) {
  variables.set(Value(name, Origin::kTemplate), std::move(value));
}

Status add_further_variables(jinja::Dict& variables, const std::string& json) {
  if (json.empty()) return {};
  SLUICE_ASSIGN_OR_RETURN(const Value further, json_part(json, "chat_template_kwargs"));
  if (!further.is(Kind::kDict)) return invalid_field("chat_template_kwargs", "must be an object");
  for (const auto& [name, value] : further.dict().entries()) {
    if (std::find(kOwnVariables.begin(), kOwnVariables.end(), name.bytes()) != kOwnVariables.end()) {
      return invalid_field("chat_template_kwargs", "may not set \"" + name.bytes() + "\"");
    }
    variables.set(name, value);
  }
  return {};
}

Result<jinja::Dict> variables_of(const ChatPrompt& prompt, const ChatTokens& tokens) {
  jinja::Dict variables;
  if (tokens.bos) set(variables, "bos_token", Value(*tokens.bos, Origin::kTemplate));
  if (tokens.eos) set(variables, "eos_token", Value(*tokens.eos, Origin::kTemplate));
  SLUICE_RETURN_IF_ERROR(add_further_variables(variables, prompt.variables_json));
  SLUICE_ASSIGN_OR_RETURN(Value messages, messages_part(prompt.messages_json));
  SLUICE_ASSIGN_OR_RETURN(Value tools, list_part(prompt.tools_json, "tools"));
  SLUICE_ASSIGN_OR_RETURN(Value documents, list_part(prompt.documents_json, "documents"));
  set(variables, "messages", std::move(messages));
  set(variables, "tools", std::move(tools));
  set(variables, "documents", std::move(documents));
  set(variables, "add_generation_prompt", Value(prompt.add_generation_prompt));
  return variables;
}

/// The last message's text; of several parts the last text.
Result<jinja::Text> final_text(const Value& messages) {
  const Value* content = messages.sequence().items.back().dict().find("content");
  if (content != nullptr && is_list(*content)) {
    const Value* text = nullptr;
    for (const Value& part : content->sequence().items) {
      const Value* const found = part.is(Kind::kDict) ? part.dict().find("text") : nullptr;
      if (found != nullptr) text = found;
    }
    content = text;
  }
  if (content == nullptr || !content->is(Kind::kString)) {
    return invalid_field("continue_final_message", "needs text in the last message");
  }
  return content->text();
}

constexpr std::string_view kBlanks = " \t\n\r\f\v";

/// Cuts off what the template put after the last message's text.
Status end_with(jinja::Text& prompt, const jinja::Text& final_text) {
  const std::string_view whole = final_text.bytes();
  const size_t begin = std::min(whole.find_first_not_of(kBlanks), whole.size());
  const std::string_view from_left = whole.substr(begin);
  const std::string_view trimmed = from_left.substr(0, from_left.find_last_not_of(kBlanks) + 1);
  const size_t place = prompt.bytes().rfind(trimmed);
  if (place == std::string::npos) {
    return invalid_field("continue_final_message", "the chat template changes the last message's text");
  }
  // Blanks at the end are kept where the template kept them.
  const bool keeps_blanks = prompt.bytes().compare(place, from_left.size(), from_left) == 0;
  prompt.truncate(place + (keeps_blanks ? from_left.size() : trimmed.size()));
  return {};
}

std::vector<TextRun> runs_of(const jinja::Text& text) {
  std::vector<TextRun> runs;
  size_t begin = 0;
  for (const jinja::Text::Run& run : text.runs()) {
    const bool is_template = run.origin == Origin::kTemplate;
    runs.push_back({.text = text.bytes().substr(begin, run.end - begin),
                    .special = is_template ? SpecialTokens::kParse : SpecialTokens::kAsText});
    begin = run.end;
  }
  return runs;
}

Status for_the_client(const Status& status) {
  if (status.code() == StatusCode::kInvalidArgument) return status;
  return invalid_argument("the chat template fails on this input: " + status.message());
}

/// The name of the token whose id stands under `key`.
std::optional<std::string> token_name(const GgufFile& file, std::string_view key) {
  const GgufValue* const tokens = file.find("tokenizer.ggml.tokens");
  const Result<int64_t> id = file.get_int(key);
  const auto* const array = tokens == nullptr ? nullptr : std::get_if<GgufArray>(tokens);
  const auto* const names = array == nullptr ? nullptr : std::get_if<std::vector<std::string_view>>(array);
  if (names == nullptr || !id.ok() || *id < 0 || static_cast<size_t>(*id) >= names->size()) return std::nullopt;
  return std::string((*names)[static_cast<size_t>(*id)]);
}

struct NamedSource {
  std::string name;
  std::string text;
  std::string place;  ///< for errors
};

Result<std::vector<NamedSource>> sources_in(const std::string& folder, const HfTokenizerConfig& config) {
  constexpr std::string_view kDefault = "default";
  const std::string path = folder + "/chat_template.jinja";
  const Result<std::unique_ptr<MappedFile>> file = MappedFile::open(path);
  if (file.ok()) {
    const std::span<const std::byte> bytes = (*file)->bytes();
    return std::vector<NamedSource>{{.name = std::string(kDefault),
                                     .text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                                     .place = path}};
  }
  if (file.status().code() != StatusCode::kNotFound) return file.status();
  std::vector<NamedSource> sources;
  for (const auto& [name, text] : config.chat_templates) {
    sources.push_back({.name = name, .text = text, .place = folder + "/tokenizer_config.json: chat_template " + name});
  }
  return sources;
}

}  // namespace

struct ChatTemplate::Compiled {
  jinja::Template general;
  std::optional<jinja::Template> with_tools;
  ChatTokens tokens;
};

Result<ChatTemplate> ChatTemplate::compile(std::string_view source, ChatTokens tokens) {
  SLUICE_ASSIGN_OR_RETURN(jinja::Template general, jinja::Template::compile(source));
  return ChatTemplate(std::make_shared<const Compiled>(
      Compiled{.general = std::move(general), .with_tools = std::nullopt, .tokens = std::move(tokens)}));
}

Result<ChatTemplate> ChatTemplate::from_gguf(const GgufFile& file) {
  if (file.find("tokenizer.chat_template") == nullptr) return not_found(file.path() + " has no chat template");
  const auto compile_key = [&](std::string_view key) -> Result<jinja::Template> {
    SLUICE_ASSIGN_OR_RETURN(const std::string_view source, file.get_string(key));
    Result<jinja::Template> compiled = jinja::Template::compile(source);
    if (!compiled.ok())
      return invalid_argument(file.path() + ": " + std::string(key) + ": " + compiled.status().message());
    return compiled;
  };
  SLUICE_ASSIGN_OR_RETURN(jinja::Template general, compile_key("tokenizer.chat_template"));
  Compiled compiled{.general = std::move(general),
                    .with_tools = std::nullopt,
                    .tokens = {.bos = token_name(file, "tokenizer.ggml.bos_token_id"),
                               .eos = token_name(file, "tokenizer.ggml.eos_token_id")}};
  if (file.find("tokenizer.chat_template.tool_use") != nullptr) {
    SLUICE_ASSIGN_OR_RETURN(compiled.with_tools, compile_key("tokenizer.chat_template.tool_use"));
  }
  return ChatTemplate(std::make_shared<const Compiled>(std::move(compiled)));
}

Result<ChatTemplate> ChatTemplate::from_folder(const std::string& folder) {
  SLUICE_ASSIGN_OR_RETURN(const HfTokenizerConfig config, HfTokenizerConfig::read(folder));
  SLUICE_ASSIGN_OR_RETURN(std::vector<NamedSource> sources, sources_in(folder, config));
  std::optional<jinja::Template> general;
  std::optional<jinja::Template> with_tools;
  for (const NamedSource& source : sources) {
    std::optional<jinja::Template>* const target = source.name == "default"    ? &general
                                                   : source.name == "tool_use" ? &with_tools
                                                                               : nullptr;
    if (target == nullptr) continue;
    Result<jinja::Template> compiled = jinja::Template::compile(source.text);
    if (!compiled.ok()) return invalid_argument(source.place + ": " + compiled.status().message());
    *target = *std::move(compiled);
  }
  if (!general) return not_found(folder + " has no chat template");
  return ChatTemplate(std::make_shared<const Compiled>(Compiled{.general = *std::move(general),
                                                                .with_tools = std::move(with_tools),
                                                                .tokens = {.bos = config.bos, .eos = config.eos}}));
}

ChatTemplate ChatTemplate::with_tokens(const ChatTokens& tokens) const {
  Compiled changed = *compiled_;
  if (tokens.bos) changed.tokens.bos = tokens.bos;
  if (tokens.eos) changed.tokens.eos = tokens.eos;
  return ChatTemplate(std::make_shared<const Compiled>(std::move(changed)));
}

Result<std::vector<TextRun>> ChatTemplate::render(const ChatPrompt& prompt) const {
  if (prompt.continue_final_message && prompt.add_generation_prompt) {
    return invalid_field("continue_final_message", "excludes add_generation_prompt");
  }
  SLUICE_ASSIGN_OR_RETURN(const jinja::Dict variables, variables_of(prompt, compiled_->tokens));
  const bool has_tools = is_true(*variables.find("tools"));
  const jinja::Template& chosen = has_tools && compiled_->with_tools ? *compiled_->with_tools : compiled_->general;
  Result<jinja::Text> text = chosen.render(variables, prompt.now);
  if (!text.ok()) return for_the_client(text.status());
  if (prompt.continue_final_message) {
    SLUICE_ASSIGN_OR_RETURN(const jinja::Text ending, final_text(*variables.find("messages")));
    SLUICE_RETURN_IF_ERROR(end_with(*text, ending));
  }
  return runs_of(*text);
}

}  // namespace sluice::engine
