#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "engine/chat_template.h"

namespace sluice::offline {

/// A chat prompt made with a model file or a bare template, and no daemon.
struct RenderOptions {
  /// A GGUF file, of which only the metadata has to be there, a Hugging Face folder, synthetic:SHAPE, or the source of
  /// a template where the name ends in ".jinja".
  std::string path;
  engine::ChatTokens tokens;  ///< go before those that a model file names
  engine::ChatPrompt prompt;
};

/// What the model would read. Errors: a file that can't be read, has no chat template or one that can't be compiled,
/// and what ChatTemplate::render refuses.
Result<std::vector<engine::TextRun>> render_prompt(const RenderOptions& options);

}  // namespace sluice::offline
