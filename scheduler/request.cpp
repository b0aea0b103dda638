#include "scheduler/request.h"

#include <algorithm>

#include "base/check.h"

namespace sluice::scheduler {

Request::Request(Submission submission, uint64_t arrival_number, int32_t tenant)
    : submission_(std::move(submission)), arrival_number_(arrival_number), tenant_(tenant) {
  SLUICE_CHECK(!submission_.prompt.empty());
  SLUICE_CHECK(submission_.max_new_tokens >= 0);
  SLUICE_CHECK(submission_.sequence_count >= 1);
  sequences_.reserve(static_cast<size_t>(submission_.sequence_count));
  for (int32_t index = 0; index < submission_.sequence_count; ++index) sequences_.emplace_back(submission_, index);
}

Sequence* Request::first_waiting() {
  const auto found =
      std::find_if(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return s.is_waiting(); });
  return found == sequences_.end() ? nullptr : &*found;
}

bool Request::has_waiting() const {
  return std::any_of(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return s.is_waiting(); });
}

bool Request::has_unfinished() const {
  return std::any_of(sequences_.begin(), sequences_.end(), [](const Sequence& s) { return !s.is_finished(); });
}

}  // namespace sluice::scheduler
