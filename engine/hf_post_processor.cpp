#include <utility>

#include "engine/hf_components.h"

namespace sluice::engine {
namespace {

/// The ids of {"SpecialToken": {"id": NAME}}.
Result<std::vector<int32_t>> special_ids(const HfValue& component, const HfValue& token) {
  SLUICE_ASSIGN_OR_RETURN(const std::string name, token.get_string("id"));
  SLUICE_ASSIGN_OR_RETURN(const HfValue tokens, component.get("special_tokens"));
  SLUICE_ASSIGN_OR_RETURN(const HfValue entry, tokens.get(name));
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> elements, entry.get_list("ids"));
  std::vector<int32_t> ids;
  for (const HfValue& element : elements) {
    SLUICE_ASSIGN_OR_RETURN(const int32_t id, element.id());
    ids.push_back(id);
  }
  return ids;
}

Result<HfTemplate> read_template(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> parts, component.get_list("single"));
  HfTemplate made;
  bool has_text = false;
  for (const HfValue& part : parts) {
    SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> text, part.find("Sequence"));
    if (text) {
      if (has_text) return part.fault("has the text twice");
      has_text = true;
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(const HfValue token, part.get("SpecialToken"));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<int32_t> ids, special_ids(component, token));
    std::vector<int32_t>& side = has_text ? made.suffix_ids : made.prefix_ids;
    side.insert(side.end(), ids.begin(), ids.end());
  }
  if (!has_text) return component.fault("has no place for the text in \"single\"");
  return made;
}

/// What `outer` puts around what `inner` has made.
void wrap(const HfTemplate& outer, HfTemplate& inner) {
  inner.prefix_ids.insert(inner.prefix_ids.begin(), outer.prefix_ids.begin(), outer.prefix_ids.end());
  inner.suffix_ids.insert(inner.suffix_ids.end(), outer.suffix_ids.begin(), outer.suffix_ids.end());
}

Result<HfTemplate> read(const HfValue& component) {
  SLUICE_ASSIGN_OR_RETURN(const std::string type, hf_type(component));
  if (type == "TemplateProcessing") return read_template(component);
  if (type == "ByteLevel") return HfTemplate();
  if (type != "Sequence") return hf_unknown_type(component, type);
  SLUICE_ASSIGN_OR_RETURN(const std::vector<HfValue> parts, component.get_list("processors"));
  HfTemplate all;
  for (const HfValue& part : parts) {
    SLUICE_ASSIGN_OR_RETURN(const HfTemplate made, read(part));
    wrap(made, all);
  }
  return all;
}

}  // namespace

Result<HfTemplate> hf_post_processor(const HfValue& document) {
  SLUICE_ASSIGN_OR_RETURN(const std::optional<HfValue> component, document.find("post_processor"));
  if (!component) return HfTemplate();
  return read(*component);
}

}  // namespace sluice::engine
