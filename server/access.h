#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "server/api_key.h"
#include "server/key_use.h"

namespace sluice::server {

/// What a call says about who makes it.
struct Credentials {
  std::string_view authorization;  ///< metadata or header `authorization`: "Bearer KEY"; empty when there is none
  std::string_view tenant;         ///< metadata or header `x-tenant`; the same
};

/// Who a call is from, and what he may ask for.
struct Caller {
  std::string tenant;
  KeyLimits limits;
  std::shared_ptr<KeyUse> use;  ///< null where there are no keys
};

/// Who may call. Without a file of keys everyone may, for the tenant that he names; with one, whoever has a key, for
/// its tenant. Thread-safe.
class Access {
 public:
  /// Reads the file of keys; an empty path stands for none. NOT_FOUND, FAILED_PRECONDITION or INVALID_ARGUMENT with the
  /// key `security.api_keys_path`.
  static Result<std::unique_ptr<Access>> open(std::string path);

  bool has_keys() const { return !path_.empty(); }

  /// UNAUTHENTICATED without a key that stands in the file. INVALID_ARGUMENT for a tenant that can't be one,
  /// PERMISSION_DENIED for one that isn't the key's. Takes as long for a wrong key as for a right one.
  Result<Caller> admit(const Credentials& credentials) const;
  /// The same for sluice.v1.Control; PERMISSION_DENIED with a key that isn't marked `admin`.
  Status admit_admin(const Credentials& credentials) const;

  /// Reads the file again; on failure all stays as it was. Requests that were taken go on.
  Status reload();
  size_t key_count() const;

 private:
  struct Entry {
    ApiKey key;
    std::shared_ptr<KeyUse> use;
  };
  using Entries = std::vector<Entry>;

  explicit Access(std::string path) : path_(std::move(path)) {}
  std::shared_ptr<const Entries> entries() const;
  Result<Entry> find(std::string_view authorization) const;

  const std::string path_;
  mutable Mutex mutex_;
  std::shared_ptr<const Entries> entries_ SLUICE_GUARDED_BY(mutex_) = std::make_shared<Entries>();
};

}  // namespace sluice::server
