#include "scheduler/prefix_sharing.h"

namespace sluice::scheduler {

bool PrefixSharing::shares(const Sequence& sequence) const {
  return sequence.submission().prefix_keys &&
         !growth_.wraps(int64_t{sequence.prompt_length()} + sequence.submission().max_new_tokens);
}

int32_t PrefixSharing::usable_blocks(const Sequence& sequence) const {
  if (!shares(sequence) || sequence.scores_prompt()) return 0;
  return (sequence.prompt_length() - 1) / growth_.block_size;
}

int32_t PrefixSharing::attach(const Sequence& sequence, kvcache::BlockTable& table) {
  const int32_t limit = usable_blocks(sequence);
  if (limit == 0) return 0;
  const Submission& submission = sequence.submission();
  return index_.attach(table, submission.prefix_keys->blocks, submission.prompt, limit) * growth_.block_size;
}

int32_t PrefixSharing::known_blocks(const Sequence& sequence) const {
  const int32_t limit = usable_blocks(sequence);
  if (limit == 0) return 0;
  const Submission& submission = sequence.submission();
  return index_.match(submission.prefix_keys->blocks, submission.prompt, 0, limit);
}

bool PrefixSharing::is_computing_for(const Sequence& other, const Sequence& sequence, int32_t known_blocks) const {
  if (known_blocks >= usable_blocks(sequence) || !other.is_prefill() || !shares(other)) return false;
  const auto next = static_cast<size_t>(known_blocks);
  const std::vector<kvcache::BlockKey>& computing = other.submission().prefix_keys->blocks;
  return next < computing.size() && computing[next] == sequence.submission().prefix_keys->blocks[next] &&
         other.computed_count() < (known_blocks + 1) * growth_.block_size;
}

void PrefixSharing::begin(Sequence& sequence) const {
  if (!shares(sequence)) return;
  const PrefixKeys& keys = *sequence.submission().prefix_keys;
  const int32_t attached = sequence.computed_count() / growth_.block_size;
  sequence.set_last_key(attached == 0 ? keys.root : keys.blocks[static_cast<size_t>(attached) - 1]);
}

void PrefixSharing::publish(Sequence& sequence, int32_t computed_before) {
  if (!shares(sequence)) return;
  const int32_t end = sequence.computed_count() / growth_.block_size;
  for (int32_t block = computed_before / growth_.block_size; block < end; ++block) {
    if (!reuses_outputs_ && (block + 1) * growth_.block_size > sequence.prompt_length()) return;
    tokens_.clear();
    for (int32_t i = 0; i < growth_.block_size; ++i)
      tokens_.push_back(sequence.token_at(block * growth_.block_size + i));
    const kvcache::BlockKey key = key_of(sequence, block);
    index_.publish(sequence.table(), block, key, tokens_);
    sequence.set_last_key(key);
  }
}

kvcache::BlockKey PrefixSharing::key_of(const Sequence& sequence, int32_t block) {
  const std::vector<kvcache::BlockKey>& known = sequence.submission().prefix_keys->blocks;
  const auto index = static_cast<size_t>(block);
  return index < known.size() ? known[index] : hasher_->next(sequence.last_key(), tokens_);
}

}  // namespace sluice::scheduler
