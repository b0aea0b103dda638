#include "server/prompt_keys.h"

namespace sluice::server {

void PromptKeys::set(scheduler::Submission& submission, const std::string& cache_salt) const {
  if (!rules_.is_enabled) return;
  // The length keeps the two parts apart: no tenant can choose a salt that makes it look like another.
  const std::string tenant = rules_.shares_across_tenants ? std::string() : submission.tenant;
  const std::string salt = std::to_string(tenant.size()) + ':' + tenant + cache_salt;
  submission.prefix_keys =
      scheduler::PrefixKeys{.root = hasher_->root(salt),
                            .blocks = kvcache::prompt_keys(*hasher_, salt, submission.prompt, rules_.block_size)};
}

}  // namespace sluice::server
