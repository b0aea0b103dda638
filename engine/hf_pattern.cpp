#include "engine/hf_pattern.h"

#include <optional>
#include <string>

#include "engine/oniguruma_regex.h"

namespace sluice::engine {
namespace {

Result<TextPattern> compile_regex(const std::string& regex) {
  SLUICE_ASSIGN_OR_RETURN(const std::string translated, pcre2_of_oniguruma(regex));
  return TextPattern::compile(translated);
}

}  // namespace

Result<TextPattern> hf_pattern(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const HfValue pattern, component.get("pattern"));
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> text, pattern.find_string("String"));
  if (text) {
    if (text->empty()) return pattern.fault("is empty");
    return TextPattern::literal(*text);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::optional<std::string> regex, pattern.find_string("Regex"));
  if (!regex) return pattern.fault("has neither \"String\" nor \"Regex\"");
  Result<TextPattern> compiled = compile_regex(*regex);
  if (!compiled.ok()) return pattern.fault("can't be used: " + compiled.status().message());
  return compiled;
}

}  // namespace sluice::engine
