#include "server/config.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "engine/rank.h"
#include "kvcache/pool_size.h"
#include "server/device_name.h"
#include "server/http_url.h"
#include "server/listen_address.h"
#include "server/metric_bounds.h"

namespace sluice::server {
namespace {

Status check_range(std::string_view key, int32_t value, int32_t low, int32_t high) {
  if (value >= low && value <= high) return {};
  return invalid_field(std::string(key), "must be from " + std::to_string(low) + " to " + std::to_string(high) +
                                             ", not " + std::to_string(value));
}

Status check_choice(std::string_view key, std::string_view value, std::initializer_list<std::string_view> choices) {
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return {};
  std::string list;
  for (const std::string_view choice : choices) {
    if (!list.empty()) list += choice == *(choices.end() - 1) ? " or " : ", ";
    list += choice;
  }
  return invalid_field(std::string(key), "must be " + list + ", not \"" + std::string(value) + '"');
}

Status check_length(std::string_view key, std::string_view value, size_t high) {
  if (value.size() <= high) return {};
  return invalid_field(std::string(key), "must have at most " + std::to_string(high) + " bytes");
}

Status check_listeners(const ServerSection& server) {
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress grpc, parse_listen_address(server.grpc_listen, "server.grpc_listen"));
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress http, parse_listen_address(server.http_listen, "server.http_listen"));
  SLUICE_ASSIGN_OR_RETURN(const ListenAddress admin, parse_listen_address(server.admin_listen, "server.admin_listen"));
  if (grpc == http && http.port != 0)
    return invalid_field("server.http_listen", "must differ from server.grpc_listen, both are " + http.text());
  if ((admin == grpc || admin == http) && admin.port != 0)
    return invalid_field("server.admin_listen", "must differ from the other listeners, " + admin.text() + " is one");
  return {};
}

/// Whoever can reach the daemon's control can starve everybody else.
Status check_admin_is_guarded(const Config& config) {
  const Result<ListenAddress> admin = parse_listen_address(config.server.admin_listen, "server.admin_listen");
  const bool is_guarded = !config.security.api_keys_path.empty() || !config.security.tls_client_ca_path.empty();
  if (is_guarded || admin->is_loopback()) return {};
  return invalid_field("server.admin_listen",
                       "opens the daemon's control to the network; set security.api_keys_path or "
                       "security.tls_client_ca_path, or listen on 127.0.0.1");
}

constexpr int32_t kHourMs = 3'600'000;

Status check_http_limits(const ServerSection& server) {
  SLUICE_RETURN_IF_ERROR(check_range("server.http_max_body_mib", server.http_max_body_mib, 1, 1024));
  SLUICE_RETURN_IF_ERROR(
      check_range("server.http_max_buffered_mib", server.http_max_buffered_mib, server.http_max_body_mib, 1 << 16));
  SLUICE_RETURN_IF_ERROR(check_range("server.http_max_header_kib", server.http_max_header_kib, 1, 1024));
  SLUICE_RETURN_IF_ERROR(check_range("server.http_max_connections", server.http_max_connections, 1, 1 << 16));
  SLUICE_RETURN_IF_ERROR(check_range("server.http_idle_timeout_ms", server.http_idle_timeout_ms, 1, kHourMs));
  SLUICE_RETURN_IF_ERROR(check_range("server.http_request_timeout_ms", server.http_request_timeout_ms, 1, kHourMs));
  return check_range("server.http_write_timeout_ms", server.http_write_timeout_ms, 1, kHourMs);
}

/// "*", or what a browser sends as `Origin` (RFC 6454): scheme, host and port, no path.
Status check_cors_origin(std::string_view origin) {
  SLUICE_RETURN_IF_ERROR(check_length("server.http_cors_origin", origin, 256));
  const bool is_printable = std::ranges::all_of(origin, [](char c) { return c > ' ' && c <= '~'; });
  const size_t host = origin.find("://");
  const bool is_origin = host != std::string_view::npos && host > 0 && host + 3 < origin.size() &&
                         origin.find('/', host + 3) == std::string_view::npos;
  if (origin.empty() || origin == "*" || (is_printable && is_origin)) return {};
  return invalid_field("server.http_cors_origin",
                       "must be \"*\" or one origin, as https://example.org, without a path");
}

}  // namespace

Status ModelSection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_length("model.path", path, 4096));
  SLUICE_RETURN_IF_ERROR(check_length("model.name", name, 256));
  return check_range("model.max_context", max_context, 0, 1 << 24);
}

Status EngineSection::validate() const {
  SLUICE_RETURN_IF_ERROR(parse_device_name(device).status());
  SLUICE_RETURN_IF_ERROR(check_range("engine.threads", threads, 0, 1024));
  SLUICE_RETURN_IF_ERROR(check_range("engine.tensor_parallel", tensor_parallel, 1, engine::kRanksMax));
  SLUICE_RETURN_IF_ERROR(check_choice("engine.cuda_weights", cuda_weights, {"bf16", "fp8", "stored"}));
  return check_choice("engine.cpu_isa", cpu_isa, {"auto", "portable", "avx2", "avx512", "amx"});
}

Status KvSection::validate() const {
  // How much there is decides the size at start; here only the spelling counts, so any amount will do.
  constexpr int64_t kAnyAvailableBytes = int64_t{1} << 40;
  if (memory != "auto") SLUICE_RETURN_IF_ERROR(kvcache::parse_memory(memory, kAnyAvailableBytes).status());
  SLUICE_RETURN_IF_ERROR(check_range("kv.block_size", block_size, 1, 1024));
  return check_choice("kv.dtype", dtype, {"f32", "f16", "bf16", "int8", "fp8"});
}

Status ServerSection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_listeners(*this));
  SLUICE_RETURN_IF_ERROR(check_range("server.drain_timeout_ms", drain_timeout_ms, 0, kHourMs));
  SLUICE_RETURN_IF_ERROR(check_range("server.stall_timeout_ms", stall_timeout_ms, 1, kHourMs));
  SLUICE_RETURN_IF_ERROR(check_range("server.stream_buffer_tokens", stream_buffer_tokens, 1, 1 << 24));
  SLUICE_RETURN_IF_ERROR(check_range("server.max_message_mib", max_message_mib, 1, 1024));
  SLUICE_RETURN_IF_ERROR(check_range("server.grpc_max_streams", grpc_max_streams, 1, 1 << 16));
  SLUICE_RETURN_IF_ERROR(check_range("server.grpc_idle_timeout_ms", grpc_idle_timeout_ms, 1000, 24 * kHourMs));
  SLUICE_RETURN_IF_ERROR(check_http_limits(*this));
  return check_cors_origin(http_cors_origin);
}

Status SecuritySection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_length("security.api_keys_path", api_keys_path, 4096));
  SLUICE_RETURN_IF_ERROR(check_length("security.tls_cert_path", tls_cert_path, 4096));
  SLUICE_RETURN_IF_ERROR(check_length("security.tls_key_path", tls_key_path, 4096));
  SLUICE_RETURN_IF_ERROR(check_length("security.tls_client_ca_path", tls_client_ca_path, 4096));
  if (tls_key_path.empty() != tls_cert_path.empty())
    return invalid_field(tls_key_path.empty() ? "security.tls_key_path" : "security.tls_cert_path",
                         "must be set too: TLS takes a certificate and its key");
  if (!tls_client_ca_path.empty() && tls_cert_path.empty())
    return invalid_field("security.tls_cert_path", "must be set too: client certificates come with TLS");
  return {};
}

Status LogSection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_length("log.trace_path", trace_path, 4096));
  SLUICE_RETURN_IF_ERROR(check_choice("log.format", format, {"text", "json"}));
  return check_choice("log.level", level, {"debug", "info", "warning", "error"});
}

Status MetricsSection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_range("metrics.max_tenants", max_tenants, 0, 256));
  return metric_bounds(*this).status();
}

Status TracingSection::validate() const {
  SLUICE_RETURN_IF_ERROR(check_length("tracing.otlp_url", otlp_url, 4096));
  if (!otlp_url.empty()) SLUICE_RETURN_IF_ERROR(parse_http_url("tracing.otlp_url", otlp_url).status());
  if (!(sample_ratio >= 0 && sample_ratio <= 1)) return invalid_field("tracing.sample_ratio", "must be from 0 to 1");
  if (service_name.empty()) return invalid_field("tracing.service_name", "must not be empty");
  return check_length("tracing.service_name", service_name, 256);
}

Status Config::validate() const {
  SLUICE_RETURN_IF_ERROR(model.validate());
  SLUICE_RETURN_IF_ERROR(engine.validate());
  SLUICE_RETURN_IF_ERROR(kv.validate());
  SLUICE_RETURN_IF_ERROR(scheduler.validate());
  SLUICE_RETURN_IF_ERROR(server.validate());
  SLUICE_RETURN_IF_ERROR(security.validate());
  SLUICE_RETURN_IF_ERROR(metrics.validate());
  SLUICE_RETURN_IF_ERROR(tracing.validate());
  SLUICE_RETURN_IF_ERROR(check_admin_is_guarded(*this));
  return log.validate();
}

}  // namespace sluice::server
