#include "scheduler/length_book.h"

namespace sluice::scheduler {
namespace {

constexpr size_t kEntriesMax = 65;  // everybody's and 64 tenants' own

}  // namespace

int32_t LengthBook::entry_of(int32_t tenant) {
  const auto index = static_cast<size_t>(tenant);
  if (entries_.size() <= index) entries_.resize(index + 1, 0);
  if (entries_[index] == 0 && books_.size() < kEntriesMax) {
    entries_[index] = static_cast<int32_t>(books_.size());
    books_.emplace_back();
  }
  return entries_[index];
}

const OutputLengths& LengthBook::at(int32_t entry) const {
  const OutputLengths& own = books_[static_cast<size_t>(entry)];
  return own.is_known() ? own : books_.front();
}

void LengthBook::note_finished(int32_t entry, int32_t length, bool at_cap) {
  books_.front().note_finished(length, at_cap);
  if (entry != 0) books_[static_cast<size_t>(entry)].note_finished(length, at_cap);
}

void LengthBook::note_drawn(int32_t entry, int32_t drawn, bool ended) {
  books_.front().note_drawn(drawn, ended);
  if (entry != 0) books_[static_cast<size_t>(entry)].note_drawn(drawn, ended);
}

void LengthBook::refresh(std::span<const SequenceLoad> running) {
  books_.front().refresh(running);
  for (size_t entry = 1; entry < books_.size(); ++entry) {
    own_.clear();
    for (const SequenceLoad& sequence : running) {
      if (static_cast<size_t>(sequence.lengths) == entry) own_.push_back(sequence);
    }
    books_[entry].refresh(own_);
  }
}

}  // namespace sluice::scheduler
