#include "server/config_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "server/config_keys.h"
#include "server/config_value.h"

namespace sluice::server {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;

std::string place(std::string_view file_name, const YAML::Mark& mark) {
  if (mark.is_null()) return std::string(file_name);
  return std::string(file_name) + ':' + std::to_string(mark.line + 1);
}

/// What a key holds instead of one value, in words; empty when it is a value.
std::string_view not_a_value(const YAML::Node& node) {
  if (node.IsSequence()) return "a list";
  if (node.IsMap()) return "a section";
  if (!node.IsScalar()) return "nothing; write \"\" for an empty text";
  return "";
}

/// Walks one document. yaml-cpp keeps repeated keys apart only while iterating, and gives "undefined" for a missing
/// one: so every key of the file is looked up in the table of keys, never the other way round.
class Walk {
 public:
  Walk(std::string_view file_name, ConfigDraft& draft) : file_name_(file_name), draft_(draft) {}

  Status document(const YAML::Node& root) {
    if (root.IsNull()) return {};
    if (!root.IsMap())
      return invalid_argument(place(file_name_, root.Mark()) + ": must hold sections, for example kv:");
    for (const auto& entry : root) SLUICE_RETURN_IF_ERROR(section(entry.first, entry.second));
    return {};
  }

 private:
  Status section(const YAML::Node& name, const YAML::Node& keys) {
    SLUICE_RETURN_IF_ERROR(take_name(name, ""));
    const std::string& section = name.Scalar();
    if (!is_config_section(section)) return unknown_section(section).with_context(place(file_name_, name.Mark()));
    if (keys.IsNull()) return {};
    if (!keys.IsMap()) return fault(name, section, "is a section and must hold keys");
    for (const auto& entry : keys) SLUICE_RETURN_IF_ERROR(key(section, entry.first, entry.second));
    return {};
  }

  Status key(const std::string& section, const YAML::Node& name, const YAML::Node& value) {
    SLUICE_RETURN_IF_ERROR(take_name(name, section + '.'));
    if (const std::string_view held = not_a_value(value); !held.empty())
      return fault(name, section + '.' + shown(name.Scalar()), "must have one value, not " + std::string(held));
    // yaml-cpp tags a plain scalar "?" and a quoted one "!".
    const ConfigScalar scalar{.text = value.Scalar(), .is_quoted = value.Tag() != "?"};
    return draft_.assign(section, name.Scalar(), scalar, place(file_name_, name.Mark()));
  }

  /// Checks that a key is a name that hasn't come before.
  Status take_name(const YAML::Node& name, const std::string& prefix) {
    if (!name.IsScalar()) return invalid_argument(place(file_name_, name.Mark()) + ": a key must be a name");
    if (names_.insert(prefix + name.Scalar()).second) return {};
    return fault(name, prefix + shown(name.Scalar()), "is set twice");
  }

  Status fault(const YAML::Node& at, const std::string& key, std::string_view problem) const {
    return invalid_field(key, problem).with_context(place(file_name_, at.Mark()));
  }

  const std::string_view file_name_;
  ConfigDraft& draft_;
  std::set<std::string> names_;
};

/// Notes where the latest document starts and ignores the rest.
class DocumentStarts : public YAML::EventHandler {
 public:
  const YAML::Mark& latest() const { return latest_; }

  void OnDocumentStart(const YAML::Mark& mark) override { latest_ = mark; }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
  void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
  void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t, const std::string&) override {}
  void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnSequenceEnd() override {}
  void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t, YAML::EmitterStyle::value) override {}
  void OnMapEnd() override {}

 private:
  YAML::Mark latest_ = YAML::Mark::null_mark();
};

// YAML::Load passes over all but the first document, and YAML::LoadAll finds documents without end in some broken
// texts: so the second document, broken or not, is looked for here. Throws what yaml-cpp throws.
Status check_single_document(const std::string& text, std::string_view file_name) {
  std::istringstream stream(text);
  YAML::Parser parser(stream);
  DocumentStarts starts;
  if (!parser.HandleNextDocument(starts) || !parser.HandleNextDocument(starts)) return {};
  return invalid_argument(place(file_name, starts.latest()) + ": a second document; one file holds one configuration");
}

bool is_indented_with_tab(std::string_view line) {
  const size_t first = line.find_first_not_of(" \t\r");
  return first != std::string_view::npos && line[first] != '#' &&
         line.substr(0, first).find('\t') != std::string_view::npos;
}

// yaml-cpp takes some tabs as blanks and reports others far from where they are; YAML allows none of them.
Status check_tabs(std::string_view text, std::string_view file_name) {
  for (size_t line = 1, begin = 0; begin < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (is_indented_with_tab(text.substr(begin, end - begin)))
      return invalid_argument(std::string(file_name) + ':' + std::to_string(line) + ": a tab can't indent; use blanks");
    begin = end + 1;
  }
  return {};
}

}  // namespace

Status read_yaml(std::string_view text, std::string_view file_name, ConfigDraft& draft) {
  if (text.size() > kFileBytesMax)
    return invalid_argument(std::string(file_name) + ": is larger than 1 MiB, no configuration");
  SLUICE_RETURN_IF_ERROR(check_tabs(text, file_name));
  try {
    const std::string owned(text);
    SLUICE_RETURN_IF_ERROR(check_single_document(owned, file_name));
    return Walk(file_name, draft).document(YAML::Load(owned));
  } catch (const YAML::Exception& error) {
    return invalid_argument(place(file_name, error.mark) + ": is no YAML: " + error.msg);
  }
}

Status read_config_file(const std::string& path, ConfigDraft& draft) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return not_found(path + ": can't open this configuration file: " + std::strerror(errno));
  std::string text(kFileBytesMax + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) return invalid_argument(path + ": can't read this configuration file; is it a folder?");
  text.resize(static_cast<size_t>(file.gcount()));
  return read_yaml(text, path, draft);
}

std::string effective_config(const Config& config) {
  std::ostringstream out;
  std::string_view section;
  for_each_key(config, [&](std::string_view next_section, std::string_view key, const auto& field) {
    if (section != next_section) out << next_section << ":\n";
    section = next_section;
    out << "  " << key << ": " << write_value(field) << '\n';
  });
  return out.str();
}

std::string effective_config_line(const Config& config) {
  std::string line;
  for_each_key(config, [&](std::string_view section, std::string_view key, const auto& field) {
    if (!line.empty()) line += ' ';
    line.append(section).append(1, '.').append(key).append(1, '=').append(write_value(field));
  });
  return line;
}

}  // namespace sluice::server
