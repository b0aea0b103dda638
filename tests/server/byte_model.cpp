#include "tests/server/byte_model.h"

#include "engine/gguf.h"
#include "server/model_host.h"

namespace sluice::server {

std::unique_ptr<engine::Tokenizer> byte_tokenizer() {
  const auto file = engine::GgufFile::open(SLUICE_SOURCE_DIR "/tests/data/gguf/T_base.gguf");
  SLUICE_CHECK(file.ok());
  auto tokenizer = engine::Tokenizer::from_gguf(file.value());
  SLUICE_CHECK(tokenizer.ok());
  return std::move(tokenizer).value();
}

std::vector<int32_t> byte_ids(std::string_view text) {
  std::vector<int32_t> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

ServedModel byte_model(const engine::Tokenizer& tokenizer, int32_t context_length, int32_t pool_tokens) {
  ServedModel model;
  model.name = "bytes";
  model.architecture = "llama";
  model.device = "script";
  model.version = "0";
  model.parameter_count = 1234;
  model.context_length = context_length;
  model.pool_tokens = pool_tokens;
  model.tokenizer = &tokenizer;
  model.longest_token_bytes = longest_token_bytes(tokenizer);
  return model;
}

}  // namespace sluice::server
