#include "engine/pretokenizer.h"

#include <array>
#include <span>

namespace sluice::engine {
namespace {

// The published patterns write \s, which there means the White_Space property; PCRE2's \s has one character more
// (U+180E).

constexpr std::string_view kDigit = R"(\p{N})";

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{WSpace}\p{L}\p{N}]+|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";

constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\p{WSpace}\p{L}\p{N}]+[\r\n]*|\p{WSpace}*[\r\n]+|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";

constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\p{WSpace}\p{L}\p{N}]+[\r\n]*|\p{WSpace}*[\r\n]+|\p{WSpace}+(?!\P{WSpace})|\p{WSpace}+)";

constexpr std::array kGpt2Stages = {kGpt2};
constexpr std::array kSmollmStages = {kDigit, kGpt2};
constexpr std::array kLlama3Stages = {kLlama3};
constexpr std::array kQwen2Stages = {kQwen2};

struct Known {
  std::string_view name;
  std::span<const std::string_view> stages;
  bool is_llama3 = false;
};

constexpr std::array kKnown = {
    Known{"smollm", kSmollmStages},       Known{"gpt-2", kGpt2Stages},
    Known{"qwen2", kQwen2Stages},         Known{"llama-bpe", kLlama3Stages, true},
    Known{"llama3", kLlama3Stages, true}, Known{"llama-v3", kLlama3Stages, true},
};

std::string known_names() {
  std::string names;
  for (const Known& known : kKnown) {
    if (!names.empty()) names += ", ";
    names += known.name;
  }
  return names;
}

}  // namespace

Result<Pretokenizer> Pretokenizer::create(std::string_view name) {
  for (const Known& known : kKnown) {
    if (known.name != name) continue;
    Pretokenizer pretokenizer;
    for (const std::string_view regex : known.stages) pretokenizer.stages_.emplace_back(regex);
    pretokenizer.takes_whole_words_ = known.is_llama3;
    pretokenizer.adds_bos_by_default_ = known.is_llama3;
    return pretokenizer;
  }
  return invalid_argument("not one of the supported pre-tokenizers " + known_names());
}

Status Pretokenizer::split(std::string_view text, const PieceSink& sink) const {
  return split_from(0, text, sink);
}

Status Pretokenizer::split_from(size_t stage, std::string_view text, const PieceSink& sink) const {
  if (stage + 1 == stages_.size()) return stages_[stage].split(text, sink);
  Status failed;
  const Status status = stages_[stage].split(text, [&](std::string_view piece) {
    if (failed.ok()) failed = split_from(stage + 1, piece, sink);
  });
  return status.ok() ? failed : status;
}

}  // namespace sluice::engine
