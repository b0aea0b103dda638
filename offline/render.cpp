#include "offline/render.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "engine/gguf.h"
#include "engine/synthetic_checkpoint.h"

namespace sluice::offline {
namespace {

using engine::ChatTemplate;

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in.good()) return not_found("can't open " + path);
  std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  if (in.bad()) return unavailable("can't read " + path);
  return text;
}

Result<ChatTemplate> open_template(const RenderOptions& options) {
  if (options.path.ends_with(".jinja")) {
    SLUICE_ASSIGN_OR_RETURN(const std::string source, read_file(options.path));
    Result<ChatTemplate> compiled = ChatTemplate::compile(source, options.tokens);
    if (!compiled.ok()) return compiled.status().with_context(options.path);
    return compiled;
  }
  if (engine::is_synthetic_path(options.path)) {
    SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, engine::SyntheticCheckpoint::open(options.path));
    SLUICE_ASSIGN_OR_RETURN(const ChatTemplate compiled, checkpoint->chat_template());
    return compiled.with_tokens(options.tokens);
  }
  std::error_code error;
  if (std::filesystem::is_directory(options.path, error)) {
    SLUICE_ASSIGN_OR_RETURN(const ChatTemplate compiled, ChatTemplate::from_folder(options.path));
    return compiled.with_tokens(options.tokens);
  }
  SLUICE_ASSIGN_OR_RETURN(const engine::GgufFile file, engine::GgufFile::open_metadata(options.path));
  SLUICE_ASSIGN_OR_RETURN(const ChatTemplate compiled, ChatTemplate::from_gguf(file));
  return compiled.with_tokens(options.tokens);
}

}  // namespace

Result<std::vector<engine::TextRun>> render_prompt(const RenderOptions& options) {
  SLUICE_ASSIGN_OR_RETURN(const ChatTemplate compiled, open_template(options));
  return compiled.render(options.prompt);
}

}  // namespace sluice::offline
