#include "engine/jinja/text.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::jinja {

size_t Text::run_of(size_t index) const {
  const auto run = std::upper_bound(runs_.begin(), runs_.end(), index,
                                    [](size_t wanted, const Run& candidate) { return wanted < candidate.end; });
  return static_cast<size_t>(run - runs_.begin());
}

Origin Text::origin_at(size_t index) const {
  SLUICE_CHECK(index < size());
  return runs_[run_of(index)].origin;
}

Origin Text::origin() const {
  const bool is_template =
      std::all_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.origin == Origin::kTemplate; });
  return is_template ? Origin::kTemplate : Origin::kInput;
}

Text Text::slice(size_t begin, size_t size) const {
  Text part;
  part.append(*this, begin, size);
  part.is_markup_ = is_markup_;
  return part;
}

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().origin == origin) {
    runs_.back().end = bytes_.size();
  } else {
    runs_.push_back({.end = bytes_.size(), .origin = origin});
  }
}

void Text::append(const Text& text) {
  append(text, 0, text.size());
}

void Text::append(const Text& text, size_t begin, size_t size) {
  SLUICE_CHECK(&text != this && begin <= text.size() && size <= text.size() - begin);
  const std::string_view bytes = text.bytes_;
  for (size_t run = text.run_of(begin), end = begin + size; begin < end; ++run) {
    const size_t stop = std::min(text.runs_[run].end, end);
    append(bytes.substr(begin, stop - begin), text.runs_[run].origin);
    begin = stop;
  }
}

void Text::truncate(size_t size) {
  SLUICE_CHECK(size <= this->size());
  bytes_.resize(size);
  while (!runs_.empty() && (runs_.size() > 1 ? runs_[runs_.size() - 2].end : 0) >= size) runs_.pop_back();
  if (!runs_.empty()) runs_.back().end = size;
}

}  // namespace sluice::jinja
