#include "engine/json_file.h"

#include <set>
#include <vector>

#include <nlohmann/json.hpp>

#include "engine/mapped_file.h"
#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

using nlohmann::json;

/// Watches a text being parsed for what the library lets pass.
class Watch {
 public:
  /// False drops the value, so that nothing deep is ever built.
  bool see(int depth, json::parse_event_t event, const json& value) {
    const auto level = static_cast<size_t>(depth);
    if (event == json::parse_event_t::object_start || event == json::parse_event_t::array_start) {
      if (depth >= kJsonDepthMax) {
        note("nests deeper than " + std::to_string(kJsonDepthMax) + " levels");
        return false;
      }
      if (names_.size() < level + 2) names_.resize(level + 2);
      names_[level + 1].clear();
    }
    const bool dropped = level >= names_.size();  // its object is: the library names its members all the same
    if (event == json::parse_event_t::key && !dropped && !names_[level].insert(value.get<std::string>()).second) {
      note("names the member \"" + printable_name(value.get<std::string>()) + "\" twice");
    }
    return true;
  }

  const std::string& problem() const { return problem_; }

 private:
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::vector<std::set<std::string>> names_ = std::vector<std::set<std::string>>(1);  // by depth
  std::string problem_;
};

}  // namespace

Result<json> parse_json(std::string_view text) {
  Watch watch;
  json document = json::parse(
      text.begin(), text.end(),
      [&watch](int depth, json::parse_event_t event, const json& value) { return watch.see(depth, event, value); },
      false);
  if (!watch.problem().empty()) return invalid_argument("it " + watch.problem());
  if (document.is_discarded()) return invalid_argument("it is not valid JSON in UTF-8");
  return document;
}

Result<json> read_json_file(const std::string& path, uint64_t bytes_max) {
  SLUICE_ASSIGN_OR_RETURN(const auto file, MappedFile::open(path));
  const auto bytes = file->bytes();
  if (bytes.size() > bytes_max) {
    return invalid_argument(path + ": it has " + std::to_string(bytes.size()) + " bytes, more than the " +
                            std::to_string(bytes_max) + " that are read");
  }
  Result<json> document = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!document.ok()) return document.status().with_context(path);
  return document;
}

}  // namespace sluice::engine
