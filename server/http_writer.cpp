#include "server/http_writer.h"

#include <algorithm>
#include <utility>

#include <boost/asio/write.hpp>
#include <boost/beast/http/status.hpp>

namespace sluice::server {
namespace {

constexpr size_t kSliceBytes = size_t{64} << 10;

std::string_view reason_of(unsigned status) {
  if (status == 499) return "Client Closed Request";
  const auto reason = boost::beast::http::obsolete_reason(boost::beast::http::int_to_status(status));
  return {reason.data(), reason.size()};
}

void add_field(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

std::string http_head(const HttpResponse& response, unsigned version, HttpFraming framing, bool keep_alive) {
  const auto status = static_cast<unsigned>(response.status);
  std::string head = version == 10 ? "HTTP/1.0 " : "HTTP/1.1 ";
  head.append(std::to_string(status)).append(1, ' ').append(reason_of(status)).append("\r\n");
  if (!response.content_type.empty()) add_field(head, "Content-Type", response.content_type);
  for (const auto& [name, value] : response.headers) add_field(head, name, value);
  if (framing == HttpFraming::kChunked) add_field(head, "Transfer-Encoding", "chunked");
  // A 204 has no body, so no length either (RFC 9110, 8.6).
  if (framing == HttpFraming::kLength && status != 204)
    add_field(head, "Content-Length", std::to_string(response.body.size()));
  if (!keep_alive) add_field(head, "Connection", "close");
  if (keep_alive && version == 10) add_field(head, "Connection", "keep-alive");
  return head + "\r\n";
}

void HttpWriter::connect(Callbacks callbacks, const std::weak_ptr<void>& owner) {
  callbacks_ = std::move(callbacks);
  owner_ = owner;
}

void HttpWriter::push(std::string bytes) {
  if (bytes.empty()) return;
  pending_.push_back(std::move(bytes));
  if (pending_.size() == 1) write_slice();
}

void HttpWriter::write_slice() {
  const std::string_view rest = std::string_view(pending_.front()).substr(written_);
  deadline_.set(write_timeout_, callbacks_.on_failed, owner_);
  boost::asio::async_write(
      socket_, boost::asio::buffer(rest.data(), std::min(rest.size(), kSliceBytes)),
      [this, owner = owner_.lock()](const boost::system::error_code& error, size_t bytes) { on_slice(error, bytes); });
}

void HttpWriter::on_slice(const boost::system::error_code& error, size_t bytes) {
  deadline_.cancel();
  if (error) return callbacks_.on_failed();
  written_ += bytes;
  if (written_ == pending_.front().size()) {
    pending_.pop_front();
    written_ = 0;
  }
  if (pending_.empty()) return callbacks_.on_drained();
  write_slice();
}

}  // namespace sluice::server
