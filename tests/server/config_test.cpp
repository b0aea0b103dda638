#include "server/config.h"

#include <functional>
#include <string>

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

using Change = std::function<void(Config&)>;

/// The field of the error, "" when the configuration is valid.
std::string fault_of(const Change& change) {
  Config config;
  change(config);
  return config.validate().field();
}

/// Both ends of a range are taken, the next value on either side is not.
void expect_range(const std::string& key, int64_t low, int64_t high, const std::function<void(Config&, int32_t)>& set) {
  const auto fault_at = [&](int64_t value) {
    return fault_of([&](Config& config) { set(config, static_cast<int32_t>(value)); });
  };
  EXPECT_EQ(fault_at(low), "") << key;
  EXPECT_EQ(fault_at(high), "") << key;
  EXPECT_EQ(fault_at(low - 1), key);
  EXPECT_EQ(fault_at(high + 1), key);
}

TEST(Config, DefaultsAreValid) {
  EXPECT_EQ(Config().validate(), Status());
}

TEST(Config, HoldsNumbersToTheirLimits) {
  expect_range("model.max_context", 0, 1 << 24, [](Config& c, int32_t v) { c.model.max_context = v; });
  expect_range("engine.threads", 0, 1024, [](Config& c, int32_t v) { c.engine.threads = v; });
  expect_range("engine.tensor_parallel", 1, 64, [](Config& c, int32_t v) { c.engine.tensor_parallel = v; });
  expect_range("kv.block_size", 1, 1024, [](Config& c, int32_t v) { c.kv.block_size = v; });
  expect_range("server.drain_timeout_ms", 0, 3'600'000, [](Config& c, int32_t v) { c.server.drain_timeout_ms = v; });
  expect_range("server.stall_timeout_ms", 1, 3'600'000, [](Config& c, int32_t v) { c.server.stall_timeout_ms = v; });
  expect_range("server.stream_buffer_tokens", 1, 1 << 24,
               [](Config& c, int32_t v) { c.server.stream_buffer_tokens = v; });
  expect_range("server.max_message_mib", 1, 1024, [](Config& c, int32_t v) { c.server.max_message_mib = v; });
  expect_range("server.grpc_max_streams", 1, 1 << 16, [](Config& c, int32_t v) { c.server.grpc_max_streams = v; });
  expect_range("server.grpc_idle_timeout_ms", 1000, 86'400'000,
               [](Config& c, int32_t v) { c.server.grpc_idle_timeout_ms = v; });
}

TEST(Config, OpensTheControlToTheNetworkOnlyGuarded) {
  const auto open = [](Config& c) { c.server.admin_listen = "0.0.0.0:50052"; };
  EXPECT_EQ(fault_of(open), "server.admin_listen");
  EXPECT_EQ(fault_of([&](Config& c) {
              open(c);
              c.security.api_keys_path = "keys";
            }),
            "");
  EXPECT_EQ(fault_of([&](Config& c) {
              open(c);
              c.security.tls_cert_path = c.security.tls_key_path = c.security.tls_client_ca_path = "pem";
            }),
            "");
  EXPECT_EQ(fault_of([&](Config& c) {
              open(c);
              c.security.tls_cert_path = c.security.tls_key_path = "pem";
            }),
            "server.admin_listen")
      << "TLS alone keeps nobody out";
}

TEST(Config, NoTwoListenersAreOne) {
  EXPECT_EQ(fault_of([](Config& c) { c.server.admin_listen = c.server.grpc_listen; }), "server.admin_listen");
  EXPECT_EQ(fault_of([](Config& c) { c.server.admin_listen = c.server.http_listen; }), "server.admin_listen");
  EXPECT_EQ(
      fault_of([](Config& c) { c.server.admin_listen = c.server.grpc_listen = c.server.http_listen = "127.0.0.1:0"; }),
      "");
}

TEST(Config, TlsTakesACertificateAndItsKey) {
  EXPECT_EQ(fault_of([](Config& c) { c.security.tls_cert_path = "pem"; }), "security.tls_key_path");
  EXPECT_EQ(fault_of([](Config& c) { c.security.tls_key_path = "pem"; }), "security.tls_cert_path");
  EXPECT_EQ(fault_of([](Config& c) { c.security.tls_client_ca_path = "pem"; }), "security.tls_cert_path");
  EXPECT_EQ(fault_of([](Config& c) { c.security.api_keys_path = std::string(4097, 'a'); }), "security.api_keys_path");
}

TEST(Config, HoldsTheHttpLimitsToTheirs) {
  expect_range("server.http_max_body_mib", 1, 1024, [](Config& c, int32_t v) {
    c.server.http_max_body_mib = v;
    c.server.http_max_buffered_mib = 1024;
  });
  expect_range("server.http_max_buffered_mib", 64, 1 << 16,
               [](Config& c, int32_t v) { c.server.http_max_buffered_mib = v; });
  expect_range("server.http_max_header_kib", 1, 1024, [](Config& c, int32_t v) { c.server.http_max_header_kib = v; });
  expect_range("server.http_max_connections", 1, 1 << 16,
               [](Config& c, int32_t v) { c.server.http_max_connections = v; });
  expect_range("server.http_idle_timeout_ms", 1, 3'600'000,
               [](Config& c, int32_t v) { c.server.http_idle_timeout_ms = v; });
  expect_range("server.http_request_timeout_ms", 1, 3'600'000,
               [](Config& c, int32_t v) { c.server.http_request_timeout_ms = v; });
  expect_range("server.http_write_timeout_ms", 1, 3'600'000,
               [](Config& c, int32_t v) { c.server.http_write_timeout_ms = v; });
}

TEST(Config, TakesOneOriginAllOrNone) {
  for (const char* const value : {"", "*", "https://example.org", "http://localhost:3000", "null://x"})
    EXPECT_EQ(fault_of([&](Config& c) { c.server.http_cors_origin = value; }), "") << value;
  for (const char* const value :
       {"example.org", "https://", "https://a/", "https://a b", "*, https://a", "https://a\r\nX: y"})
    EXPECT_EQ(fault_of([&](Config& c) { c.server.http_cors_origin = value; }), "server.http_cors_origin") << value;
}

TEST(Config, HoldsTextsToTheirLength) {
  EXPECT_EQ(fault_of([](Config& c) { c.model.path = std::string(4096, 'a'); }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.model.path = std::string(4097, 'a'); }), "model.path");
  EXPECT_EQ(fault_of([](Config& c) { c.model.name = std::string(256, 'a'); }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.model.name = std::string(257, 'a'); }), "model.name");
}

TEST(Config, TakesOnlyKnownChoices) {
  for (const char* const value : {"auto", "cpu", "cuda", "cuda:0", "cuda:63"})
    EXPECT_EQ(fault_of([&](Config& c) { c.engine.device = value; }), "") << value;
  for (const char* const value : {"", "CPU", "gpu", "cpu:0", "cuda:64"})
    EXPECT_EQ(fault_of([&](Config& c) { c.engine.device = value; }), "engine.device") << value;
  for (const char* const value : {"auto", "portable", "avx2", "avx512", "amx"})
    EXPECT_EQ(fault_of([&](Config& c) { c.engine.cpu_isa = value; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.engine.cpu_isa = "sse2"; }), "engine.cpu_isa");
  for (const char* const value : {"bf16", "fp8", "stored"})
    EXPECT_EQ(fault_of([&](Config& c) { c.engine.cuda_weights = value; }), "") << value;
  for (const char* const value : {"", "auto", "BF16", "f32"})
    EXPECT_EQ(fault_of([&](Config& c) { c.engine.cuda_weights = value; }), "engine.cuda_weights") << value;
  for (const char* const value : {"f32", "f16", "bf16", "int8", "fp8"})
    EXPECT_EQ(fault_of([&](Config& c) { c.kv.dtype = value; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.kv.dtype = "f64"; }), "kv.dtype");
  for (const char* const value : {"debug", "info", "warning", "error"})
    EXPECT_EQ(fault_of([&](Config& c) { c.log.level = value; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.log.level = "warn"; }), "log.level");
}

TEST(Config, MetricsAndTracesHaveBoundsToo) {
  for (const int32_t good : {0, 256}) EXPECT_EQ(fault_of([&](Config& c) { c.metrics.max_tenants = good; }), "");
  for (const int32_t bad : {-1, 257})
    EXPECT_EQ(fault_of([&](Config& c) { c.metrics.max_tenants = bad; }), "metrics.max_tenants");
  EXPECT_EQ(fault_of([](Config& c) { c.metrics.queue_buckets = "0.1, 1"; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.metrics.queue_buckets = "1, 0.1"; }), "metrics.queue_buckets");
  for (const double good : {0.0, 0.5, 1.0}) EXPECT_EQ(fault_of([&](Config& c) { c.tracing.sample_ratio = good; }), "");
  for (const double bad : {-0.001, 1.001})
    EXPECT_EQ(fault_of([&](Config& c) { c.tracing.sample_ratio = bad; }), "tracing.sample_ratio");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.otlp_url = "http://127.0.0.1:4318/v1/traces"; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.otlp_url = "127.0.0.1:4318"; }), "tracing.otlp_url");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.otlp_url = "http://a/" + std::string(4096, 'x'); }), "tracing.otlp_url");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.service_name = std::string(256, 'x'); }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.service_name = std::string(257, 'x'); }), "tracing.service_name");
  EXPECT_EQ(fault_of([](Config& c) { c.tracing.service_name = ""; }), "tracing.service_name");
  EXPECT_EQ(fault_of([](Config& c) { c.log.format = "json"; }), "");
  EXPECT_EQ(fault_of([](Config& c) { c.log.format = "xml"; }), "log.format");
}

TEST(Config, AMessageListsTheChoices) {
  Config config;
  config.log.level = "warn";
  EXPECT_EQ(config.validate().message(), "log.level must be debug, info, warning or error, not \"warn\"");
}

TEST(Config, TakesMemoryAsBytesAmountOrShare) {
  for (const char* const value : {"auto", "536870912", "512MiB", "2GiB", "100%", "12.5%"})
    EXPECT_EQ(fault_of([&](Config& c) { c.kv.memory = value; }), "") << value;
  for (const char* const value : {"", "0%", "101%", "-1", "2GB", "lots", "1e3MiB", "nan%"})
    EXPECT_EQ(fault_of([&](Config& c) { c.kv.memory = value; }), "kv.memory") << value;
}

TEST(Config, RefusesListenersThatAreNoAddressOrTheSame) {
  EXPECT_EQ(fault_of([](Config& c) { c.server.grpc_listen = "50051"; }), "server.grpc_listen");
  EXPECT_EQ(fault_of([](Config& c) { c.server.http_listen = "localhost"; }), "server.http_listen");
  EXPECT_EQ(fault_of([](Config& c) { c.server.http_listen = c.server.grpc_listen; }), "server.http_listen");
  EXPECT_EQ(fault_of([](Config& c) { c.server.http_listen = c.server.grpc_listen = "127.0.0.1:0"; }), "");
}

TEST(Config, ChecksTheSchedulersKeysToo) {
  EXPECT_EQ(fault_of([](Config& c) { c.scheduler.max_running = 0; }), "scheduler.max_running");
  EXPECT_EQ(fault_of([](Config& c) { c.scheduler.admission = "guess"; }), "scheduler.admission");
}

}  // namespace
}  // namespace sluice::server
