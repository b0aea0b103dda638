#include "offline/tokenize.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include <nlohmann/json.hpp>

#include "engine/detokenizer.h"
#include "engine/gguf.h"
#include "engine/synthetic_checkpoint.h"
#include "engine/tokenizer.h"

namespace sluice::offline {
namespace {

using engine::SpecialTokens;
using engine::Tokenizer;

Result<std::unique_ptr<Tokenizer>> open_tokenizer(const std::string& model_path) {
  if (engine::is_synthetic_path(model_path)) {
    SLUICE_ASSIGN_OR_RETURN(const auto checkpoint, engine::SyntheticCheckpoint::open(model_path));
    return checkpoint->tokenizer();
  }
  std::error_code error;
  if (std::filesystem::is_directory(model_path, error)) return Tokenizer::from_folder(model_path);
  SLUICE_ASSIGN_OR_RETURN(const engine::GgufFile file, engine::GgufFile::open_metadata(model_path));
  return Tokenizer::from_gguf(file);
}

Result<std::vector<int32_t>> ids_of(const Tokenizer& tokenizer, const TokenizeOptions& options, std::string_view text) {
  const SpecialTokens special = options.parse_special ? SpecialTokens::kParse : SpecialTokens::kAsText;
  SLUICE_ASSIGN_OR_RETURN(std::vector<int32_t> ids, tokenizer.encode(text, special));
  if (options.add_bos) ids.insert(ids.begin(), tokenizer.prefix_ids().begin(), tokenizer.prefix_ids().end());
  return ids;
}

Result<std::string> text_of_line(const std::string& line) {
  const nlohmann::json value = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return invalid_argument("not JSON");
  if (!value.is_object()) return invalid_argument("not a JSON object");
  const auto text = value.find("text");
  if (text == value.end()) return invalid_argument("no member \"text\"");
  const auto* const string = text->get_ptr<const nlohmann::json::string_t*>();
  if (string == nullptr) return invalid_argument("\"text\" is not a string");
  return *string;
}

Status answer_line(const Tokenizer& tokenizer, const TokenizeOptions& options, const std::string& line,
                   std::ostream& out) {
  SLUICE_ASSIGN_OR_RETURN(const std::string text, text_of_line(line));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, ids_of(tokenizer, options, text));
  out << nlohmann::json{{"ids", ids}}.dump() << '\n';
  return out.good() ? Status() : unavailable("writing the answer failed");
}

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

Result<std::vector<int32_t>> tokenize_text(const TokenizeOptions& options, std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(options.model_path));
  return ids_of(*tokenizer, options, text);
}

Result<std::string> detokenize_ids(const std::string& model_path, const std::vector<int32_t>& ids, bool keep_special) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(model_path));
  engine::Detokenizer detokenizer(*tokenizer, engine::TextExtent::kWhole);
  std::string text;
  for (const int32_t id : ids) {
    if (id < 0 || id >= tokenizer->vocab_size()) {
      return invalid_argument("id " + std::to_string(id) + " is not a token of the vocabulary, 0 to " +
                              std::to_string(tokenizer->vocab_size() - 1));
    }
    text += keep_special ? detokenizer.push_with_name(id) : detokenizer.push(id);
  }
  return text + detokenizer.flush();
}

Status tokenize_jsonl(const TokenizeOptions& options, std::istream& in, std::ostream& out) {
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Tokenizer> tokenizer, open_tokenizer(options.model_path));
  std::string line;
  for (int64_t number = 1; std::getline(in, line); ++number) {
    if (is_blank(line)) continue;
    const Status status = answer_line(*tokenizer, options, line, out);
    if (!status.ok()) return status.with_context("line " + std::to_string(number));
  }
  return in.bad() ? unavailable("reading the lines failed") : Status();
}

}  // namespace sluice::offline
