#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scheduler/sequence.h"
#include "scheduler/shortage.h"
#include "scheduler/submission.h"

namespace sluice::scheduler {

/// A request from its submission until its last sequence has ended. Stays at its address: its sequences point into it.
class Request {
 public:
  Request(Submission submission, uint64_t arrival_number, int32_t tenant);
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  RequestId id() const { return submission_.id; }
  const Submission& submission() const { return submission_; }
  /// Its place in the order of arrival, from 0.
  uint64_t arrival_number() const { return arrival_number_; }
  /// Its tenant's index in the book.
  int32_t tenant() const { return tenant_; }

  std::vector<Sequence>& sequences() { return sequences_; }
  const std::vector<Sequence>& sequences() const { return sequences_; }
  /// The waiting sequence with the lowest index, nullptr when none waits.
  Sequence* first_waiting();
  bool has_waiting() const;
  bool has_unfinished() const;

  /// Why it waits, as far as the last plan knows.
  Shortage shortage() const { return shortage_; }
  void set_shortage(Shortage shortage) { shortage_ = shortage; }

  bool is_accepted() const { return is_accepted_; }
  void accept() { is_accepted_ = true; }
  /// One of its sequences has been admitted, now or before.
  bool has_started() const { return has_started_; }
  void start() { has_started_ = true; }

 private:
  const Submission submission_;
  const uint64_t arrival_number_;
  const int32_t tenant_;
  std::vector<Sequence> sequences_;  // [sequence_count]
  Shortage shortage_ = Shortage::kNone;
  bool is_accepted_ = false;
  bool has_started_ = false;
};

}  // namespace sluice::scheduler
