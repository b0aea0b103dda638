#include "server/access.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include <sodium.h>

#include "base/tenant_name.h"
#include "server/text_file.h"

namespace sluice::server {
namespace {

constexpr const char* kPathKey = "security.api_keys_path";
constexpr size_t kFileBytesMax = size_t{16} << 20;
constexpr std::string_view kScheme = "bearer ";

/// The key in "Bearer KEY"; the scheme's case doesn't matter (RFC 9110, 11.1).
std::string_view key_in(std::string_view authorization) {
  const auto is_same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  if (authorization.size() < kScheme.size()) return {};
  if (!std::equal(kScheme.begin(), kScheme.end(), authorization.begin(),
                  [&](char scheme, char given) { return is_same(given, scheme); })) {
    return {};
  }
  const std::string_view rest = authorization.substr(kScheme.size());
  return rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
}

}  // namespace

Result<std::unique_ptr<Access>> Access::open(std::string path) {
  auto access = std::unique_ptr<Access>(new Access(std::move(path)));
  if (access->has_keys()) SLUICE_RETURN_IF_ERROR(access->reload());
  return access;
}

Status Access::reload() {
  if (!has_keys()) return {};
  const Result<std::string> text = read_text_file(path_, kFileBytesMax);
  if (!text.ok()) return text.status().with_context(kPathKey);
  Result<std::vector<ApiKey>> keys = parse_api_keys(*text, path_);
  if (!keys.ok()) return keys.status().with_context(kPathKey);
  const std::shared_ptr<const Entries> before = entries();
  auto after = std::make_shared<Entries>();
  for (ApiKey& key : *keys) {
    const auto old = std::ranges::find_if(*before, [&](const Entry& entry) { return entry.key.digest == key.digest; });
    auto use = old == before->end() ? std::make_shared<KeyUse>() : old->use;
    after->push_back({.key = std::move(key), .use = std::move(use)});
  }
  const MutexLock lock(mutex_);
  entries_ = std::move(after);
  return {};
}

std::shared_ptr<const Access::Entries> Access::entries() const {
  const MutexLock lock(mutex_);
  return entries_;
}

size_t Access::key_count() const {
  return entries()->size();
}

Result<Access::Entry> Access::find(std::string_view authorization) const {
  const std::string_view key = key_in(authorization);
  if (key.empty()) return unauthenticated("this daemon wants an API key: send it as `authorization: Bearer KEY`");
  const KeyDigest digest = digest_of(key);
  // Every entry is compared to its end, whichever is the right one: the time tells nothing about the keys.
  const std::shared_ptr<const Entries> all = entries();
  const Entry* found = nullptr;
  for (const Entry& entry : *all) {
    if (sodium_memcmp(digest.data(), entry.key.digest.data(), digest.size()) == 0) found = &entry;
  }
  if (found == nullptr) return unauthenticated("this API key is not one of this daemon's");
  return *found;
}

Result<Caller> Access::admit(const Credentials& credentials) const {
  const Status tenant = check_tenant_name("x-tenant", credentials.tenant);
  if (!has_keys()) {
    SLUICE_RETURN_IF_ERROR(tenant);
    return Caller{.tenant = std::string(credentials.tenant), .limits = {}, .use = nullptr};
  }
  SLUICE_ASSIGN_OR_RETURN(Entry entry, find(credentials.authorization));
  SLUICE_RETURN_IF_ERROR(tenant);
  const bool is_own = credentials.tenant.empty() || credentials.tenant == entry.key.tenant;
  if (!entry.key.names_tenants && !is_own) {
    return permission_denied("x-tenant is not the tenant of this API key; leave it out");
  }
  return Caller{.tenant = entry.key.names_tenants ? std::string(credentials.tenant) : std::move(entry.key.tenant),
                .limits = entry.key.limits,
                .use = std::move(entry.use)};
}

Status Access::admit_admin(const Credentials& credentials) const {
  if (!has_keys()) return {};
  SLUICE_ASSIGN_OR_RETURN(const Entry entry, find(credentials.authorization));
  if (entry.key.is_admin) return {};
  return permission_denied("this API key may not change the daemon: it is not marked admin in its file");
}

}  // namespace sluice::server
