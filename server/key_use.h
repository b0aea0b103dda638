#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

namespace sluice::server {

/// How many requests of one API key there are. Outlives the key's entry as long as one of them lives. Thread-safe.
class KeyUse : public std::enable_shared_from_this<KeyUse> {
 public:
  /// One of them; counts as long as it lives. An empty one counts for nobody.
  class Lease {
   public:
    Lease() = default;
    explicit Lease(std::shared_ptr<KeyUse> use) : use_(std::move(use)) {}
    Lease(Lease&&) = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease() { release(); }

    /// It counts no longer.
    void release() {
      if (const auto use = std::exchange(use_, nullptr)) use->count_.fetch_sub(1, std::memory_order_relaxed);
    }

   private:
    std::shared_ptr<KeyUse> use_;
  };

  /// Nothing when there are `most` already; 0: any number.
  std::optional<Lease> take(int32_t most) {
    if (count_.fetch_add(1, std::memory_order_relaxed) < most || most == 0) return Lease(shared_from_this());
    count_.fetch_sub(1, std::memory_order_relaxed);
    return std::nullopt;
  }

 private:
  std::atomic<int32_t> count_{0};
};

}  // namespace sluice::server
