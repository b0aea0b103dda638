#pragma once

#include <string>

#include "kvcache/block_key.h"
#include "scheduler/submission.h"

namespace sluice::server {

/// Names the blocks of prompts for the prefix cache, in the salt of those who may share them. Thread-safe.
class PromptKeys {
 public:
  struct Rules {
    int32_t block_size = 16;
    bool is_enabled = true;
    bool shares_across_tenants = false;
  };

  /// The hasher is lent.
  PromptKeys(const kvcache::BlockHasher& hasher, const Rules& rules) : hasher_(&hasher), rules_(rules) {}

  /// Sets the submission's prefix_keys, from its prompt and tenant; `cache_salt` is the request's own.
  void set(scheduler::Submission& submission, const std::string& cache_salt) const;

 private:
  const kvcache::BlockHasher* hasher_;
  Rules rules_;
};

}  // namespace sluice::server
