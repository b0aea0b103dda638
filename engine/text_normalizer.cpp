#include "engine/text_normalizer.h"

#include <algorithm>
#include <cstddef>

#include <unicode/bytestream.h>
#include <unicode/locid.h>
#include <unicode/normalizer2.h>
#include <unicode/stringpiece.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>

#include "engine/bpe_alphabet.h"
#include "engine/utf8.h"

namespace sluice::engine {
namespace {

constexpr size_t kGrowthMax = 64;
constexpr size_t kSmallText = 1024;  // may grow as much as kGrowthMax times this many bytes

const icu::Normalizer2* form_instance(UnicodeForm form, UErrorCode& error) {
  switch (form) {
    case UnicodeForm::kNfc:
      return icu::Normalizer2::getNFCInstance(error);
    case UnicodeForm::kNfd:
      return icu::Normalizer2::getNFDInstance(error);
    case UnicodeForm::kNfkc:
      return icu::Normalizer2::getNFKCInstance(error);
    case UnicodeForm::kNfkd:
      return icu::Normalizer2::getNFKDInstance(error);
  }
  return nullptr;
}

Result<std::string> rewrite(UnicodeForm form, std::string_view text) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* const normalizer = form_instance(form, error);
  std::string normalized;
  normalized.reserve(text.size());
  icu::StringByteSink<std::string> sink(&normalized);
  const icu::StringPiece piece(text.data(), static_cast<int32_t>(text.size()));
  if (U_SUCCESS(error)) normalizer->normalizeUTF8(0, piece, sink, nullptr, error);
  if (U_FAILURE(error)) return internal_error(std::string("Unicode normalisation: ") + u_errorName(error));
  return normalized;
}

Result<std::string> rewrite(const TextNormalizer::Replace& replace, std::string_view text) {
  std::string replaced;
  SLUICE_RETURN_IF_ERROR(replace.pattern.split(text, [&](const TextPattern::Part& part) {
    if (part.is_match) {
      replaced += replace.by;
    } else {
      replaced += part.text;
    }
  }));
  return replaced;
}

Result<std::string> rewrite(const TextNormalizer::Prepend& prepend, std::string_view text) {
  return text.empty() ? std::string() : prepend.text + std::string(text);
}

Result<std::string> rewrite(const TextNormalizer::Lowercase& /*step*/, std::string_view text) {
  std::string lower;
  lower.reserve(text.size());
  while (!text.empty()) {
    const std::string_view character = text.substr(0, utf8_step(text).size);
    text.remove_prefix(character.size());
    if (character.size() == 1) {
      const char c = character.front();
      lower += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
      continue;
    }
    icu::UnicodeString::fromUTF8(icu::StringPiece(character.data(), static_cast<int32_t>(character.size())))
        .toLower(icu::Locale::getRoot())
        .toUTF8String(lower);
  }
  return lower;
}

Result<std::string> rewrite(const TextNormalizer::Strip& strip, std::string_view text) {
  if (strip.left) text.remove_prefix(leading_space_bytes(text));
  if (strip.right) text.remove_suffix(trailing_space_bytes(text));
  return std::string(text);
}

Result<std::string> rewrite(const TextNormalizer::SpellBytes& /*step*/, std::string_view text) {
  return spell_bytes(text);
}

}  // namespace

Result<std::string> TextNormalizer::apply(std::string_view text) const {
  const size_t size_max = std::max(text.size(), kSmallText) * kGrowthMax;
  std::string normalized(text);
  for (const Step& step : steps_) {
    const auto next = [&](const auto& kind) { return rewrite(kind, normalized); };
    SLUICE_ASSIGN_OR_RETURN(normalized, std::visit(next, step));
    if (normalized.size() > size_max) return invalid_argument("normalising makes the text too long");
  }
  return normalized;
}

}  // namespace sluice::engine
