#include <array>
#include <utility>

#include "base/check.h"
#include "engine/hf_components.h"
#include "engine/hf_pattern.h"
#include "engine/oniguruma_regex.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

using Stages = std::vector<Pretokenizer::Stage>;

constexpr size_t kStagesMax = 64;
// What tokenizers call numeric, and punctuation: ASCII's marks besides Unicode's category.
constexpr std::string_view kNumeric = R"(\p{N})";
constexpr std::string_view kPunctuation = R"([\p{P}$+<=>^`|~])";
constexpr std::string_view kWhiteSpace = R"(\s)";
constexpr std::string_view kWordOrMarks = R"(\w+|[^\w\s]+)";
constexpr std::string_view kGpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

struct NamedBehavior {
  std::string_view name;
  SplitBehavior behavior;
};
constexpr std::array kBehaviors = {
    NamedBehavior{"Isolated", SplitBehavior::kIsolated},
    NamedBehavior{"Removed", SplitBehavior::kRemoved},
    NamedBehavior{"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
    NamedBehavior{"MergedWithNext", SplitBehavior::kMergedWithNext},
    NamedBehavior{"Contiguous", SplitBehavior::kContiguous},
};

/// The patterns are our own, so a fault in one is a bug.
void add_split(std::string_view regex, SplitBehavior behavior, Stages& stages, bool is_inverted = false) {
  const Result<std::string> translated = pcre2_of_oniguruma(regex);
  SLUICE_CHECK(translated.ok());
  stages.emplace_back(Pretokenizer::Split{
      .pattern = *TextPattern::compile(*translated), .behavior = behavior, .is_inverted = is_inverted});
}

Result<SplitBehavior> behavior_of(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::string name, component.get_string("behavior"));
  for (const NamedBehavior& known : kBehaviors) {
    if (known.name == name) return known.behavior;
  }
  SLUICE_ASSIGN_OR_RETURN(const HfValue member, component.get("behavior"));
  return member.fault("is none of Isolated, Removed, MergedWithPrevious, MergedWithNext and Contiguous");
}

Status add_split(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, hf_pattern(component));
  SLUICE_ASSIGN_OR_RETURN(const SplitBehavior behavior, behavior_of(component));
  SLUICE_ASSIGN_OR_RETURN(const bool is_inverted, component.get_bool_or("invert", false));
  stages.emplace_back(
      Pretokenizer::Split{.pattern = std::move(pattern), .behavior = behavior, .is_inverted = is_inverted});
  return {};
}

Status add_byte_level(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(const bool adds_blank, component.get_bool_or("add_prefix_space", true));
  SLUICE_ASSIGN_OR_RETURN(const bool splits, component.get_bool_or("use_regex", true));
  if (adds_blank) stages.emplace_back(Pretokenizer::Prefix{.text = " "});
  if (splits) add_split(kGpt2, SplitBehavior::kIsolated, stages);
  stages.emplace_back(Pretokenizer::SpellBytes{});
  return {};
}

Result<std::optional<PrefixScheme>> prefix_scheme(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> name, component.find_string("prepend_scheme"));
  if (!name) {
    // What older files have in its place.
    SLUICE_ASSIGN_OR_RETURN(const bool adds_blank, component.get_bool_or("add_prefix_space", true));
    return adds_blank ? std::optional(PrefixScheme::kAlways) : std::nullopt;
  }
  if (*name == "always") return std::optional(PrefixScheme::kAlways);
  if (*name == "first") return std::optional(PrefixScheme::kFirst);
  if (*name == "never") return std::optional<PrefixScheme>();
  SLUICE_ASSIGN_OR_RETURN(const HfValue member, component.get("prepend_scheme"));
  return member.fault("is none of always, first and never");
}

Status add_metaspace(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(const std::string blank, component.get_string("replacement"));
  if (blank.empty() || utf8_step(blank).size != blank.size()) {
    SLUICE_ASSIGN_OR_RETURN(const HfValue member, component.get("replacement"));
    return member.fault("is not one character");
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<PrefixScheme> scheme, prefix_scheme(component));
  SLUICE_ASSIGN_OR_RETURN(const bool splits, component.get_bool_or("split", true));
  stages.emplace_back(Pretokenizer::ReplaceBlanks{.by = blank});
  if (scheme) stages.emplace_back(Pretokenizer::Prefix{.text = blank, .scheme = *scheme});
  if (!splits) return {};
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::literal(blank));
  stages.emplace_back(Pretokenizer::Split{.pattern = std::move(pattern), .behavior = SplitBehavior::kMergedWithNext});
  return {};
}

Status add_digits(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(const bool one_by_one, component.get_bool_or("individual_digits", false));
  add_split(kNumeric, one_by_one ? SplitBehavior::kIsolated : SplitBehavior::kContiguous, stages);
  return {};
}

Status add_punctuation(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> behavior, component.find("behavior"));
  if (!behavior) {
    add_split(kPunctuation, SplitBehavior::kIsolated, stages);
    return {};
  }
  SLUICE_ASSIGN_OR_RETURN(const SplitBehavior named, behavior_of(component));
  add_split(kPunctuation, named, stages);
  return {};
}

Status add(const HfValue& component, Stages& stages);

Status add_sequence(const HfValue& component, Stages& stages) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> parts, component.get_list("pretokenizers"));
  for (const HfValue& part : parts) SLUICE_RETURN_IF_ERROR(add(part, stages));
  return {};
}

Status add(const HfValue& component, Stages& stages) {
  if (stages.size() > kStagesMax) return component.fault("is one of too many");
  SLUICE_ASSIGN_OR_RETURN(const std::string type, hf_type(component));
  if (type == "Sequence") return add_sequence(component, stages);
  if (type == "Split") return add_split(component, stages);
  if (type == "ByteLevel") return add_byte_level(component, stages);
  if (type == "Metaspace") return add_metaspace(component, stages);
  if (type == "Digits") return add_digits(component, stages);
  if (type == "Punctuation") return add_punctuation(component, stages);
  if (type == "WhitespaceSplit") {
    add_split(kWhiteSpace, SplitBehavior::kRemoved, stages);
    return {};
  }
  if (type == "Whitespace") {
    add_split(kWordOrMarks, SplitBehavior::kRemoved, stages, true);
    return {};
  }
  return hf_unknown_type(component, type);
}

}  // namespace

Result<std::vector<Pretokenizer::Stage>> hf_pretokenizer(const HfValue& document) {
  Stages stages;
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> component, document.find("pre_tokenizer"));
  if (component) SLUICE_RETURN_IF_ERROR(add(*component, stages));
  return stages;
}

}  // namespace sluice::engine
