#include "engine/gguf_parts.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/printable_name.h"

namespace sluice::engine {
namespace {

constexpr int64_t kPartsMax = 4096;

/// What a file says of its place in a split model.
struct SplitPlace {
  int64_t number = 0;  ///< from 0
  int64_t count = 1;
};

Result<GgufPart> open_part(const std::string& path) {
  GgufPart part{.path = path, .file = nullptr, .contents = {}};
  SLUICE_ASSIGN_OR_RETURN(part.file, MappedFile::open(path));
  Result<GgufContents> contents = parse_gguf(part.file->bytes());
  if (!contents.ok()) return contents.status().with_context(path);
  part.contents = std::move(contents).value();
  return part;
}

/// A whole number of the part's metadata; `fallback` when the key is absent.
Result<int64_t> number_of(const GgufPart& part, std::string_view key, int64_t fallback) {
  const auto entry = part.contents.metadata.find(key);
  if (entry == part.contents.metadata.end()) return fallback;
  if (const auto* value = std::get_if<int64_t>(&entry->second)) return *value;
  return invalid_argument(part.path + ": metadata " + std::string(key) + " is not a whole number");
}

Result<SplitPlace> place_of(const GgufPart& part) {
  SplitPlace place;
  SLUICE_ASSIGN_OR_RETURN(place.count, number_of(part, "split.count", 1));
  SLUICE_ASSIGN_OR_RETURN(place.number, number_of(part, "split.no", 0));
  if (place.count < 0 || place.count > kPartsMax) {
    return invalid_argument(part.path + ": metadata split.count is " + std::to_string(place.count) + ", but at most " +
                            std::to_string(kPartsMax) + " parts are supported");
  }
  if (place.number >= 0 && place.number < std::max<int64_t>(place.count, 1)) return place;
  return invalid_argument(part.path + ": metadata split.no is " + std::to_string(place.number) + ", but there are " +
                          std::to_string(place.count) + " parts, counted from 0");
}

std::string name_end(int64_t number, int64_t count) {
  char end[64];
  std::snprintf(end, sizeof(end), "-%05d-of-%05d.gguf", static_cast<int>(number + 1), static_cast<int>(count));
  return end;
}

/// The parts' names up to the numbers.
Result<std::string> common_stem(const GgufPart& part, const SplitPlace& place) {
  const std::string end = name_end(place.number, place.count);
  if (part.path.ends_with(end)) return part.path.substr(0, part.path.size() - end.size());
  return invalid_argument(part.path + ": it is part " + std::to_string(place.number + 1) + " of " +
                          std::to_string(place.count) + " by its metadata, so its name must end in " + end);
}

Result<GgufPart> open_numbered(const std::string& stem, const SplitPlace& wanted) {
  const std::string path = stem + name_end(wanted.number, wanted.count);
  Result<GgufPart> part = open_part(path);
  if (part.status().code() == StatusCode::kNotFound) {
    return not_found(path + ": this part of a split model is missing");
  }
  SLUICE_RETURN_IF_ERROR(part.status());
  SLUICE_ASSIGN_OR_RETURN(const SplitPlace place, place_of(*part));
  if (place.number == wanted.number && place.count == wanted.count) return part;
  return invalid_argument(path + ": it is part " + std::to_string(place.number + 1) + " of " +
                          std::to_string(place.count) + " by its metadata");
}

/// No tensor is in two parts, and none is missing.
Status check_tensors(const std::vector<GgufPart>& parts) {
  std::map<std::string_view, const GgufPart*> owners;
  for (const GgufPart& part : parts) {
    for (const auto& tensor : part.contents.tensors) {
      const auto [owner, is_new] = owners.emplace(tensor.name, &part);
      if (is_new) continue;
      return invalid_argument(part.path + ": tensor " + printable_name(tensor.name) + " is in " + owner->second->path +
                              " too");
    }
  }
  const auto count = static_cast<int64_t>(owners.size());
  SLUICE_ASSIGN_OR_RETURN(const int64_t wanted, number_of(parts.front(), "split.tensors.count", count));
  if (wanted == count) return Status();
  return invalid_argument(parts.front().path + ": metadata split.tensors.count is " + std::to_string(wanted) +
                          ", but the parts have " + std::to_string(count) + " tensors");
}

}  // namespace

Result<std::vector<GgufPart>> open_gguf_parts(const std::string& path) {
  SLUICE_ASSIGN_OR_RETURN(GgufPart named, open_part(path));
  SLUICE_ASSIGN_OR_RETURN(const SplitPlace place, place_of(named));
  std::vector<GgufPart> parts;
  if (place.count <= 1) {
    parts.push_back(std::move(named));
    return parts;
  }
  SLUICE_ASSIGN_OR_RETURN(const std::string stem, common_stem(named, place));
  for (int64_t number = 0; number < place.count; ++number) {
    if (number == place.number) {
      parts.emplace_back();
      continue;
    }
    SLUICE_ASSIGN_OR_RETURN(GgufPart part, open_numbered(stem, {number, place.count}));
    parts.push_back(std::move(part));
  }
  parts[static_cast<size_t>(place.number)] = std::move(named);
  SLUICE_RETURN_IF_ERROR(check_tensors(parts));
  return parts;
}

}  // namespace sluice::engine
