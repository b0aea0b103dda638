#include "scheduler/mailbox.h"

#include <utility>

#include "base/check.h"

namespace sluice::scheduler {

bool Mailbox::try_post(Submission submission) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || posted_count_ >= room_) return false;
    ++posted_count_;
    commands_.emplace_back(std::move(submission));
  }
  not_empty_.notify_one();
  return true;
}

bool Mailbox::try_post(Explain question) {
  {
    const MutexLock lock(mutex_);
    if (closed_ || question_count_ >= kQuestionsMax) return false;
    ++question_count_;
    commands_.emplace_back(std::move(question));
  }
  not_empty_.notify_one();
  return true;
}

void Mailbox::post(Command command) {
  SLUICE_CHECK(!std::holds_alternative<Submission>(command) && !std::holds_alternative<Explain>(command));
  {
    const MutexLock lock(mutex_);
    commands_.push_back(std::move(command));
  }
  not_empty_.notify_one();
}

void Mailbox::take(std::vector<Command>& out) {
  out.clear();
  const MutexLock lock(mutex_);
  commands_.swap(out);
  // Until the loop publishes anew, what it has just taken still fills the room.
  room_ -= posted_count_;
  posted_count_ = 0;
  question_count_ = 0;
}

void Mailbox::publish_room(int64_t room) {
  const MutexLock lock(mutex_);
  room_ = room;
}

bool Mailbox::wait() {
  const MutexLock lock(mutex_);
  while (commands_.empty() && !closed_) not_empty_.wait(mutex_);
  return !commands_.empty();
}

void Mailbox::close() {
  {
    const MutexLock lock(mutex_);
    closed_ = true;
  }
  not_empty_.notify_all();
}

bool Mailbox::closed() const {
  const MutexLock lock(mutex_);
  return closed_;
}

}  // namespace sluice::scheduler
