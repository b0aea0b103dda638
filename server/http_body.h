#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <boost/system/error_code.hpp>

namespace sluice::server {

/// How many bytes all requests' bodies may hold together, from their first byte until they have been read as JSON, each
/// without its first 64 KiB: ordinary requests are not to be refused for what large ones take, and their number is
/// bounded by that of connections. Thread-safe.
class HttpBodyBudget {
 public:
  static constexpr size_t kFreeBytes = size_t{64} << 10;

  explicit HttpBodyBudget(size_t bytes) : left_(static_cast<int64_t>(bytes)) {}

  bool take(size_t bytes) {
    const auto wanted = static_cast<int64_t>(bytes);
    if (left_.fetch_sub(wanted) >= wanted) return true;
    left_.fetch_add(wanted);
    return false;
  }
  void give(size_t bytes) { left_.fetch_add(static_cast<int64_t>(bytes)); }

 private:
  std::atomic<int64_t> left_;
};

/// One body's part of the budget, given back when this ends. Movable.
class HttpBodyLease {
 public:
  HttpBodyLease() = default;
  explicit HttpBodyLease(std::shared_ptr<HttpBodyBudget> budget) : budget_(std::move(budget)) {}
  ~HttpBodyLease() { release(); }
  HttpBodyLease(HttpBodyLease&& other) noexcept
      : budget_(std::move(other.budget_)), bytes_(std::exchange(other.bytes_, 0)) {}
  HttpBodyLease& operator=(HttpBodyLease&& other) noexcept {
    release();
    budget_ = std::move(other.budget_);
    bytes_ = std::exchange(other.bytes_, 0);
    return *this;
  }

  /// The body gets longer by so much. False when there is no more to have.
  bool grow(size_t bytes) {
    if (budget_ == nullptr || !budget_->take(counted(bytes_ + bytes) - counted(bytes_))) return false;
    bytes_ += bytes;
    return true;
  }

 private:
  static size_t counted(size_t bytes) { return bytes - std::min(bytes, HttpBodyBudget::kFreeBytes); }

  void release() {
    if (budget_ != nullptr) budget_->give(counted(bytes_));
    budget_.reset();
    bytes_ = 0;
  }

  std::shared_ptr<HttpBodyBudget> budget_;
  size_t bytes_ = 0;  ///< of the body
};

/// A body that takes memory only as its bytes come, whatever length its header announces, and within the budget; past
/// that reading it ends with errc::not_enough_memory. In the form that Beast asks of a Body.
struct HttpBody {
  struct value_type {
    std::string text;
    HttpBodyLease lease;
  };

  class reader {
   public:
    template <bool is_request, typename Fields>
    reader(boost::beast::http::header<is_request, Fields>& /*header*/, value_type& body) : body_(body) {}

    static void init(const boost::optional<uint64_t>& /*length*/, boost::system::error_code& error) { error = {}; }

    template <typename Buffers>
    size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t total = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        if (!body_.lease.grow(buffer.size())) {
          error = boost::system::errc::make_error_code(boost::system::errc::not_enough_memory);
          return total;
        }
        body_.text.append(static_cast<const char*>(buffer.data()), buffer.size());
        total += buffer.size();
      }
      return total;
    }

    static void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace sluice::server
