#include <algorithm>
#include <limits>
#include <utility>

#include "engine/bpe_alphabet.h"
#include "engine/byte_token.h"
#include "engine/hf_components.h"
#include "engine/hf_pattern.h"

namespace sluice::engine {
namespace {

TextNormalizer replacing(TextPattern pattern, std::string by) {
  std::vector<TextNormalizer::Step> steps;
  steps.emplace_back(TextNormalizer::Replace{.pattern = std::move(pattern), .by = std::move(by)});
  return TextNormalizer(std::move(steps));
}

Result<size_t> get_count(const HfValue& component, std::string_view name) {
  SLUICE_ASSIGN_OR_RETURN(const HfValue member, component.get(name));
  SLUICE_ASSIGN_OR_RETURN(const int32_t count, member.id());
  return static_cast<size_t>(count);
}

std::string_view stripped(std::string_view text, size_t left, size_t right) {
  const size_t first = std::min(std::min(text.find_first_not_of(' '), text.size()), left);
  text.remove_prefix(first);
  const size_t last = text.find_last_not_of(' ');
  const size_t blanks = last == std::string_view::npos ? text.size() : text.size() - last - 1;
  text.remove_suffix(std::min(blanks, right));
  return text;
}

}  // namespace

Result<HfDecoder> HfDecoder::read(const HfValue& document) {
  SLUICE_ASSIGN_OR_RETURN(const HfValue component, document.get("decoder"));
  HfDecoder decoder;
  SLUICE_RETURN_IF_ERROR(decoder.add(component));
  return decoder;
}

Status HfDecoder::add(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::string type, hf_type(component));
  if (type == "Sequence") {
    SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> parts, component.get_list("decoders"));
    for (const HfValue& part : parts) SLUICE_RETURN_IF_ERROR(add(part));
    return {};
  }
  if (type == "Strip") return add_strip(component);
  if (type == "Fuse") {
    is_fused_ = true;
    return {};
  }
  const bool is_known = type == "ByteLevel" || type == "ByteFallback" || type == "Metaspace" || type == "Replace";
  if (!is_known) return hf_unknown_type(component, type);
  if (is_fused_) return component.fault("(" + type + ") works on the whole text, which is not supported");
  if (type == "Replace") return add_replace(component);
  if (type == "Metaspace") return add_metaspace(component);
  if (type == "ByteFallback") {
    steps_.emplace_back(ByteNames{});
    return {};
  }
  steps_.emplace_back(SpelledBytes{});
  is_fused_ = true;
  return {};
}

Status HfDecoder::add_replace(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, hf_pattern(component));
  SLUICE_ASSIGN_OR_RETURN(std::string content, component.get_string("content"));
  steps_.emplace_back(replacing(std::move(pattern), std::move(content)));
  return {};
}

Status HfDecoder::add_metaspace(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::string blank, component.get_string("replacement"));
  if (blank.empty()) return component.fault("has an empty replacement");
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> scheme, component.find_string("prepend_scheme"));
  SLUICE_ASSIGN_OR_RETURN(const bool adds_blank, component.get_bool_or("add_prefix_space", true));
  const bool drops = scheme ? *scheme != "never" : adds_blank;
  if (drops) dropped_blanks_ = {.count_max = std::numeric_limits<size_t>::max(), .first_token_only = true};
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, TextPattern::literal(blank));
  steps_.emplace_back(replacing(std::move(pattern), " "));
  return {};
}

Status HfDecoder::add_strip(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::string content, component.get_string("content"));
  if (content != " ") return component.fault("strips something else than blanks, which is not supported");
  SLUICE_ASSIGN_OR_RETURN(const size_t left, get_count(component, "start"));
  SLUICE_ASSIGN_OR_RETURN(const size_t right, get_count(component, "stop"));
  if (!is_fused_) {
    steps_.emplace_back(StripBlanks{.left = left, .right = right});
    return {};
  }
  // A stream can't take back what it has sent.
  if (right > 0) return component.fault("strips the text's end, which is not supported");
  dropped_blanks_ = {.count_max = left, .first_token_only = false};
  return {};
}

Result<std::string> HfDecoder::bytes_of(std::string_view name, bool is_added) const {
  std::string bytes(name);
  for (const Step& step : steps_) {
    if (const auto* const replace = std::get_if<TextNormalizer>(&step)) {
      SLUICE_ASSIGN_OR_RETURN(bytes, replace->apply(bytes));
    } else if (const auto* const strip = std::get_if<StripBlanks>(&step)) {
      bytes = std::string(stripped(bytes, strip->left, strip->right));
    } else if (std::holds_alternative<ByteNames>(step)) {
      const std::optional<uint8_t> byte = byte_of_token_name(bytes);
      // What the byte becomes part of is decided by its neighbours: no step looks at it any more.
      if (byte) return std::string(1, static_cast<char>(*byte));
    } else if (!is_added) {
      bytes = bytes_of_spelling(bytes).value_or(bytes);
    }
  }
  return bytes;
}

}  // namespace sluice::engine
