#pragma once

#include "server/config.h"

namespace sluice::server {

/// Calls visit(section, key, field) for every key, in the order of configs/default.yaml. The one table of keys: the
/// reader, the writer and the tests all go through it. `AnyConfig` is Config or const Config.
///
/// Structured bindings name every field, so a field or section that is added but not listed here doesn't compile.
template <typename AnyConfig, typename Visitor>
void for_each_key(AnyConfig& config, Visitor&& visit) {
  auto& [model, engine, kv, scheduler, server, security, log, metrics, tracing] = config;
  {
    auto& [path, name, max_context] = model;
    visit("model", "path", path);
    visit("model", "name", name);
    visit("model", "max_context", max_context);
  }
  {
    auto& [device, threads, cpu_isa, tensor_parallel, cuda_batch_invariant, cuda_weights] = engine;
    visit("engine", "device", device);
    visit("engine", "threads", threads);
    visit("engine", "cpu_isa", cpu_isa);
    visit("engine", "tensor_parallel", tensor_parallel);
    visit("engine", "cuda_batch_invariant", cuda_batch_invariant);
    visit("engine", "cuda_weights", cuda_weights);
  }
  {
    auto& [memory, block_size, dtype, prefix_cache, share_across_tenants, reuse_outputs] = kv;
    visit("kv", "memory", memory);
    visit("kv", "block_size", block_size);
    visit("kv", "dtype", dtype);
    visit("kv", "prefix_cache", prefix_cache);
    visit("kv", "share_across_tenants", share_across_tenants);
    visit("kv", "reuse_outputs", reuse_outputs);
  }
  {
    auto& [max_running, max_running_per_tenant, max_queued_requests, max_queued_tokens, max_queued_per_tenant,
           tokens_per_step, tpot_target_ms, admission, pause_target] = scheduler;
    visit("scheduler", "max_running", max_running);
    visit("scheduler", "max_running_per_tenant", max_running_per_tenant);
    visit("scheduler", "max_queued_requests", max_queued_requests);
    visit("scheduler", "max_queued_tokens", max_queued_tokens);
    visit("scheduler", "max_queued_per_tenant", max_queued_per_tenant);
    visit("scheduler", "tokens_per_step", tokens_per_step);
    visit("scheduler", "tpot_target_ms", tpot_target_ms);
    visit("scheduler", "admission", admission);
    visit("scheduler", "pause_target", pause_target);
  }
  {
    auto& [grpc_listen, http_listen, admin_listen, drain_timeout_ms, stall_timeout_ms, stream_buffer_tokens,
           max_message_mib, grpc_max_streams, grpc_idle_timeout_ms, http_max_body_mib, http_max_buffered_mib,
           http_max_header_kib, http_max_connections, http_idle_timeout_ms, http_request_timeout_ms,
           http_write_timeout_ms, http_cors_origin] = server;
    visit("server", "grpc_listen", grpc_listen);
    visit("server", "http_listen", http_listen);
    visit("server", "admin_listen", admin_listen);
    visit("server", "drain_timeout_ms", drain_timeout_ms);
    visit("server", "stall_timeout_ms", stall_timeout_ms);
    visit("server", "stream_buffer_tokens", stream_buffer_tokens);
    visit("server", "max_message_mib", max_message_mib);
    visit("server", "grpc_max_streams", grpc_max_streams);
    visit("server", "grpc_idle_timeout_ms", grpc_idle_timeout_ms);
    visit("server", "http_max_body_mib", http_max_body_mib);
    visit("server", "http_max_buffered_mib", http_max_buffered_mib);
    visit("server", "http_max_header_kib", http_max_header_kib);
    visit("server", "http_max_connections", http_max_connections);
    visit("server", "http_idle_timeout_ms", http_idle_timeout_ms);
    visit("server", "http_request_timeout_ms", http_request_timeout_ms);
    visit("server", "http_write_timeout_ms", http_write_timeout_ms);
    visit("server", "http_cors_origin", http_cors_origin);
  }
  {
    auto& [api_keys_path, tls_cert_path, tls_key_path, tls_client_ca_path] = security;
    visit("security", "api_keys_path", api_keys_path);
    visit("security", "tls_cert_path", tls_cert_path);
    visit("security", "tls_key_path", tls_key_path);
    visit("security", "tls_client_ca_path", tls_client_ca_path);
  }
  {
    auto& [level, format, requests, trace_path] = log;
    visit("log", "level", level);
    visit("log", "format", format);
    visit("log", "requests", requests);
    visit("log", "trace_path", trace_path);
  }
  {
    auto& [vllm_names, max_tenants, time_to_first_token_buckets, time_per_output_token_buckets,
           inter_token_latency_buckets, queue_buckets, prefill_buckets, decode_buckets, end_to_end_buckets,
           token_buckets] = metrics;
    visit("metrics", "vllm_names", vllm_names);
    visit("metrics", "max_tenants", max_tenants);
    visit("metrics", "time_to_first_token_buckets", time_to_first_token_buckets);
    visit("metrics", "time_per_output_token_buckets", time_per_output_token_buckets);
    visit("metrics", "inter_token_latency_buckets", inter_token_latency_buckets);
    visit("metrics", "queue_buckets", queue_buckets);
    visit("metrics", "prefill_buckets", prefill_buckets);
    visit("metrics", "decode_buckets", decode_buckets);
    visit("metrics", "end_to_end_buckets", end_to_end_buckets);
    visit("metrics", "token_buckets", token_buckets);
  }
  auto& [otlp_url, sample_ratio, service_name] = tracing;
  visit("tracing", "otlp_url", otlp_url);
  visit("tracing", "sample_ratio", sample_ratio);
  visit("tracing", "service_name", service_name);
}

}  // namespace sluice::server
