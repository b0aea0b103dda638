#include <array>
#include <utility>

#include "engine/hf_components.h"
#include "engine/hf_pattern.h"

namespace sluice::engine {
namespace {

using Steps = std::vector<TextNormalizer::Step>;

struct NamedForm {
  std::string_view name;
  UnicodeForm form;
};
constexpr std::array kForms = {NamedForm{"NFC", UnicodeForm::kNfc}, NamedForm{"NFD", UnicodeForm::kNfd},
                               NamedForm{"NFKC", UnicodeForm::kNfkc}, NamedForm{"NFKD", UnicodeForm::kNfkd}};

Status add(const HfValue& component, Steps& steps);

Status add_sequence(const HfValue& component, Steps& steps) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> parts, component.get_list("normalizers"));
  for (const HfValue& part : parts) SLUICE_RETURN_IF_ERROR(add(part, steps));
  return {};
}

Status add_replace(const HfValue& component, Steps& steps) {
  SLUICE_ASSIGN_OR_RETURN(TextPattern pattern, hf_pattern(component));
  SLUICE_ASSIGN_OR_RETURN(std::string content, component.get_string("content"));
  steps.emplace_back(TextNormalizer::Replace{.pattern = std::move(pattern), .by = std::move(content)});
  return {};
}

Status add_prepend(const HfValue& component, Steps& steps) {
  SLUICE_ASSIGN_OR_RETURN(std::string text, component.get_string("prepend"));
  steps.emplace_back(TextNormalizer::Prepend{.text = std::move(text)});
  return {};
}

Status add_strip(const HfValue& component, Steps& steps) {
  SLUICE_ASSIGN_OR_RETURN(const bool left, component.get_bool_or("strip_left", true));
  SLUICE_ASSIGN_OR_RETURN(const bool right, component.get_bool_or("strip_right", true));
  steps.emplace_back(TextNormalizer::Strip{.left = left, .right = right});
  return {};
}

Status add(const HfValue& component, Steps& steps) {
  SLUICE_ASSIGN_OR_RETURN(const std::string type, hf_type(component));
  for (const NamedForm& known : kForms) {
    if (known.name != type) continue;
    steps.emplace_back(known.form);
    return {};
  }
  if (type == "Sequence") return add_sequence(component, steps);
  if (type == "Replace") return add_replace(component, steps);
  if (type == "Prepend") return add_prepend(component, steps);
  if (type == "Strip") return add_strip(component, steps);
  if (type == "Lowercase") {
    steps.emplace_back(TextNormalizer::Lowercase{});
    return {};
  }
  if (type == "ByteLevel") {
    steps.emplace_back(TextNormalizer::SpellBytes{});
    return {};
  }
  return hf_unknown_type(component, type);
}

}  // namespace

Result<std::vector<TextNormalizer::Step>> hf_normalizer(const HfValue& document) {
  Steps steps;
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> component, document.find("normalizer"));
  if (component) SLUICE_RETURN_IF_ERROR(add(*component, steps));
  return steps;
}

}  // namespace sluice::engine
