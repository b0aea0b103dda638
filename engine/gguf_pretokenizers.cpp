#include "engine/gguf_pretokenizers.h"

#include <array>
#include <span>
#include <string>
#include <utility>

#include "base/check.h"
#include "engine/oniguruma_regex.h"

namespace sluice::engine {
namespace {

using Stage = Pretokenizer::Stage;

constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kThreeDigits = "[0-9][0-9][0-9]";
constexpr std::string_view kUpToThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kLineEnd = R"([\r\n])";
constexpr std::string_view kCjk = R"([\x{4E00}-\x{9FA5}\x{800}-\x{4E00}\x{AC00}-\x{D7FF}]+)";

// https://github.com/openai/gpt-2/blob/master/src/encoder.py
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

constexpr std::string_view kLlama3 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
                                     R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kTekken = R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+)"
                                     R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*)"
                                     R"(|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?)"
    R"(|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kDeepseekLlmLetters =
    R"(\s?[A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF})"
    R"(\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1})"
    R"(\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5})"
    R"(\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77})"
    R"(\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D})"
    R"(\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE})"
    R"(\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC})"
    R"(\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124})"
    R"(\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E})"
    R"(\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D})"
    R"(\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF})"
    R"(\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F})"
    R"(\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF})"
    R"(\x{1E900}-\x{1E943}]+)";
constexpr std::string_view kDeepseekLlmMarks =
    R"(\s?[!-/:-~\x{FF01}-\x{FF0F}\x{FF1A}-\x{FF5E}\x{2018}-\x{201F}\x{3000}-\x{3002}]+)";
constexpr std::string_view kBlanksAtEnd = R"(\s+$)";

constexpr std::string_view kDeepseekCoderLetters = R"(\s?\p{L}+)";
constexpr std::string_view kDeepseekCoderMarks = R"(\s?\p{P}+)";

constexpr std::string_view kDeepseek3Cjk = R"([\x{4E00}-\x{9FA5}\x{3040}-\x{309F}\x{30A0}-\x{30FF}]+)";
constexpr std::string_view kDeepseek3 =
    R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)"
    R"(| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

constexpr std::string_view kDefaultMarks = R"([\p{P}$+<=>^~|]+)";

// Each pattern's matches are cut out of the pieces of the one before.
constexpr std::array kGpt2Stages = {kGpt2};
constexpr std::array kDigitGpt2Stages = {kDigit, kGpt2};
constexpr std::array kLlama3Stages = {kLlama3};
constexpr std::array kQwen2Stages = {kQwen2};
constexpr std::array kTekkenStages = {kTekken};
constexpr std::array kGpt4oStages = {kGpt4o};
constexpr std::array kDeepseekLlmStages = {kLineEnd, kDeepseekLlmLetters, kDeepseekLlmMarks, kBlanksAtEnd, kCjk,
                                           kDigit};
constexpr std::array kDeepseekCoderStages = {kLineEnd, kDeepseekCoderLetters, kDeepseekCoderMarks, kCjk, kDigit};
constexpr std::array kDeepseek3Stages = {kUpToThreeDigits, kDeepseek3Cjk, kDeepseek3};
constexpr std::array kDefaultStages = {kDefaultMarks, kGpt2, kDigits, kThreeDigits};

enum class Bos { kOnRequest, kByDefault };
enum class Words { kMerged, kWhole };
enum class Form { kAsIs, kNfc };

struct Known {
  std::string_view name;
  std::span<const std::string_view> patterns;
  Form form = Form::kAsIs;
  Words words = Words::kMerged;
  Bos bos = Bos::kOnRequest;
};

constexpr std::array kKnown = {
    Known{"default", kDefaultStages},
    Known{"gpt-2", kGpt2Stages},
    Known{"phi-2", kGpt2Stages},
    Known{"mpt", kGpt2Stages, Form::kNfc},
    Known{"olmo", kGpt2Stages, Form::kNfc},
    Known{"smollm", kDigitGpt2Stages},
    Known{"starcoder", kDigitGpt2Stages},
    Known{"refact", kDigitGpt2Stages},
    Known{"command-r", kDigitGpt2Stages, Form::kNfc},
    Known{"qwen2", kQwen2Stages, Form::kNfc},
    Known{"deepseek-r1-qwen", kQwen2Stages},
    Known{"llama-bpe", kLlama3Stages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"llama3", kLlama3Stages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"llama-v3", kLlama3Stages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"falcon3", kLlama3Stages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"pixtral", kLlama3Stages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"dbrx", kLlama3Stages},
    Known{"smaug-bpe", kLlama3Stages},
    Known{"tekken", kTekkenStages, Form::kAsIs, Words::kWhole, Bos::kByDefault},
    Known{"gpt-4o", kGpt4oStages},
    Known{"llama4", kGpt4oStages},
    Known{"deepseek-llm", kDeepseekLlmStages},
    Known{"deepseek-coder", kDeepseekCoderStages},
    Known{"deepseek-v3", kDeepseek3Stages},
};
constexpr std::string_view kFalcon = "falcon";

std::string known_names() {
  std::string names(kFalcon);
  for (const Known& known : kKnown) names += ", " + std::string(known.name);
  return names;
}

/// The patterns are our own, so a fault in one is a bug.
Stage split_at(std::string_view regex, SplitBehavior behavior = SplitBehavior::kIsolated) {
  const Result<std::string> translated = pcre2_of_oniguruma(regex);
  SLUICE_CHECK(translated.ok());
  return Pretokenizer::Split{.pattern = *TextPattern::compile(*translated), .behavior = behavior};
}

/// Falcon looks for digits in the spelled bytes, where ³ is one of the three characters that stand for 가: that is how
/// its tokenizer was trained.
GgufPretokenizer falcon() {
  GgufPretokenizer made;
  made.spells_bytes = true;
  made.stages.push_back(split_at(R"([\p{P}$+<=>^`|~])", SplitBehavior::kContiguous));
  made.stages.push_back(split_at(kGpt2));
  made.stages.emplace_back(Pretokenizer::SpellBytes{});
  made.stages.push_back(split_at(kDigit, SplitBehavior::kContiguous));
  made.stages.push_back(split_at(kThreeDigits));
  return made;
}

GgufPretokenizer make(const Known& known) {
  GgufPretokenizer made;
  if (known.form == Form::kNfc) {
    std::vector<TextNormalizer::Step> steps;
    steps.emplace_back(UnicodeForm::kNfc);
    made.normalizer = TextNormalizer(std::move(steps));
  }
  for (const std::string_view regex : known.patterns) made.stages.push_back(split_at(regex));
  made.takes_whole_words = known.words == Words::kWhole;
  made.adds_bos = known.bos == Bos::kByDefault;
  return made;
}

}  // namespace

Result<GgufPretokenizer> gguf_pretokenizer(std::string_view name) {
  if (name == kFalcon) return falcon();
  for (const Known& known : kKnown) {
    if (known.name == name) return make(known);
  }
  return invalid_argument("not one of the supported pre-tokenizers " + known_names());
}

}  // namespace sluice::engine
