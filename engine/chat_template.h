#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/tokenizer.h"

namespace sluice::engine {

class GgufFile;

/// What a prompt is made of, under the names and with the meaning that Hugging Face's apply_chat_template has.
struct ChatPrompt {
  std::string messages_json;                  ///< an array of objects
  std::optional<std::string> tools_json;      ///< an array of tool definitions; none without
  std::optional<std::string> documents_json;  ///< an array of objects; none without
  /// An object whose members the template sees as variables ("chat_template_kwargs"); {} when empty. They go before
  /// bos_token and eos_token, but may not be named as the members here.
  std::string variables_json;
  bool add_generation_prompt = true;
  /// The last message is the beginning of the answer: the prompt ends with its text. Excludes add_generation_prompt.
  bool continue_final_message = false;
  std::chrono::system_clock::time_point now;  ///< what strftime_now() tells, in local time
};

/// Names of tokens that templates print; a template sees an absent one as undefined.
struct ChatTokens {
  std::optional<std::string> bos;
  std::optional<std::string> eos;
};

/// How a model wants a conversation written down. Immutable and thread-safe; cheap to copy.
class ChatTemplate {
 public:
  /// The file's tokenizer.chat_template, and tokenizer.chat_template.tool_use for prompts with tools where it has one,
  /// with the names of its bos and eos. NOT_FOUND when it has none ("... has no chat template"), INVALID_ARGUMENT with
  /// file and line when that can't be compiled. Keeps nothing of the file.
  static Result<ChatTemplate> from_gguf(const GgufFile& file);
  /// A Hugging Face folder's chat_template.jinja, or what its tokenizer_config.json has under "chat_template": a text,
  /// or the named ones "default" and "tool_use". Names of bos and eos are those of tokenizer_config.json. NOT_FOUND
  /// when the folder has none, INVALID_ARGUMENT with file and line when it can't be compiled.
  static Result<ChatTemplate> from_folder(const std::string& folder);
  /// From the template's source.
  static Result<ChatTemplate> compile(std::string_view source, ChatTokens tokens);

  /// The same with these names instead, where they are given.
  ChatTemplate with_tokens(const ChatTokens& tokens) const;

  /// The prompt's text. Only what the template wrote itself parses names of special tokens; what came with the
  /// messages, the tools or the variables never does.
  ///
  /// INVALID_ARGUMENT, for the client to read: a part that is not JSON of the right shape, what the template raises
  /// (its own words), and what else goes wrong in the template with such input.
  Result<std::vector<TextRun>> render(const ChatPrompt& prompt) const;

 private:
  struct Compiled;
  explicit ChatTemplate(std::shared_ptr<const Compiled> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace sluice::engine
