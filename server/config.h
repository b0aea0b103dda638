#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "scheduler/scheduler_config.h"

namespace sluice::server {

// The limits that validate() holds each key to stand beside it; the error's field is the key, e.g. "kv.block_size".

/// Section `model`.
struct ModelSection {
  std::string path;         ///< see engine::Checkpoint::open(); needed to serve, at most 4096 bytes
  std::string name;         ///< name that requests may give; empty: the file's own name; at most 256 bytes
  int32_t max_context = 0;  ///< tokens of prompt and answer together, 0 to 2^24; 0: what the model was trained for

  Status validate() const;
};

/// Section `engine`.
struct EngineSection {
  std::string device = "auto";        ///< auto, cpu, cuda or cuda:N
  int32_t threads = 0;                ///< compute threads, 0 to 1024; 0: the cores this process may use
  std::string cpu_isa = "auto";       ///< auto, portable, avx2, avx512 or amx
  int32_t tensor_parallel = 1;        ///< ranks that the model is shared out over, 1 to 64; see engine/rank.h
  bool cuda_batch_invariant = false;  ///< products on a GPU don't depend on the number of rows
  std::string cuda_weights = "bf16";  ///< how a GPU keeps matrices: bf16, fp8 or stored

  Status validate() const;
};

/// Section `kv`.
struct KvSection {
  /// Bytes, "512MiB", "2GiB", or a share of what is free beside the weights, "25%"; auto: 25% of what this process may
  /// still use, on a GPU 90% of what is free there.
  std::string memory = "auto";
  int32_t block_size = 16;            ///< tokens in a block, 1 to 1024
  std::string dtype = "f16";          ///< f32, f16, bf16, int8 or fp8
  bool prefix_cache = true;           ///< blocks of a prompt's beginning are kept and reused
  bool share_across_tenants = false;  ///< by other tenants too
  bool reuse_outputs = true;          ///< blocks with tokens of answers as well, for the next turn of a conversation

  Status validate() const;
};

/// Section `server`.
struct ServerSection {
  std::string grpc_listen = "127.0.0.1:50051";
  std::string http_listen = "127.0.0.1:8080";
  /// Of sluice.v1.Control. No two of the three are the same, unless their port is 0. Off loopback only with API keys or
  /// client certificates.
  std::string admin_listen = "127.0.0.1:50052";
  int32_t drain_timeout_ms = 30000;  ///< running and queued requests may take this long after SIGTERM; 0 to one hour
  int32_t stall_timeout_ms = 10000;  ///< a tick, so a step, longer than this is unhealthy; 1 to one hour
  int32_t stream_buffer_tokens = 16384;     ///< held for a reader that doesn't read, then its request ends; 1 to 2^24
  int32_t max_message_mib = 64;             ///< largest gRPC message, 1 to 1024
  int32_t grpc_max_streams = 1024;          ///< calls at a time on one gRPC connection, 1 to 65536
  int32_t grpc_idle_timeout_ms = 600000;    ///< a connection without calls is closed after it, 1000 to one day
  int32_t http_max_body_mib = 64;           ///< largest body of an HTTP request, 1 to 1024
  int32_t http_max_buffered_mib = 256;      ///< all bodies not yet read together, http_max_body_mib to 65536
  int32_t http_max_header_kib = 16;         ///< largest header of an HTTP request, 1 to 1024
  int32_t http_max_connections = 2048;      ///< open at a time, 1 to 65536
  int32_t http_idle_timeout_ms = 60000;     ///< from an answer to the next request's first byte, 1 to one hour
  int32_t http_request_timeout_ms = 30000;  ///< to send a whole request, 1 to one hour
  int32_t http_write_timeout_ms = 30000;    ///< to take 64 KiB of an answer, 1 to one hour
  std::string http_cors_origin;  ///< whose pages may call: "*", one origin or, empty, none; at most 256 bytes

  Status validate() const;
};

/// Section `security`. Paths have at most 4096 bytes.
struct SecuritySection {
  std::string api_keys_path;       ///< see parse_api_keys(); empty: everyone may call
  std::string tls_cert_path;       ///< PEM, the daemon's certificate and those between it and its root; empty: no TLS
  std::string tls_key_path;        ///< PEM, its private key; set when tls_cert_path is
  std::string tls_client_ca_path;  ///< PEM; who has no certificate signed by one of these may not connect; empty: may

  bool has_tls() const { return !tls_cert_path.empty(); }
  Status validate() const;
};

/// Section `log`.
struct LogSection {
  std::string level = "info";   ///< debug, info, warning or error
  std::string format = "text";  ///< text or json
  bool requests = false;        ///< a line for each request that ends
  std::string trace_path;  ///< file that a line per finished request is appended to; empty: none; at most 4096 bytes

  Status validate() const;
};

/// Section `metrics`. Each list of buckets is upper bounds, ascending, 1 to 64 of them, with commas between, in seconds
/// or tokens; empty: MetricBounds has the default.
struct MetricsSection {
  bool vllm_names = true;    ///< also under vLLM's names
  int32_t max_tenants = 32;  ///< tenants with a label of their own, 0 to 256; the others are counted together
  std::string time_to_first_token_buckets;
  std::string time_per_output_token_buckets;
  std::string inter_token_latency_buckets;
  std::string queue_buckets;
  std::string prefill_buckets;
  std::string decode_buckets;  ///< also of interference, pause, delivery
  std::string end_to_end_buckets;
  std::string token_buckets;  ///< of prompts, answers and what was allowed

  Status validate() const;
};

/// Section `tracing`.
struct TracingSection {
  std::string otlp_url;                 ///< http://host:port/path of an OTLP/HTTP collector; empty: nothing is exported
  double sample_ratio = 1;              ///< of requests without a traceparent, 0 to 1
  std::string service_name = "sluice";  ///< 1 to 256 bytes

  Status validate() const;
};

/// Everything that can be configured; the defaults are those of configs/default.yaml. A new field also joins
/// for_each_key (config_keys.h).
struct Config {
  ModelSection model;
  EngineSection engine;
  KvSection kv;
  scheduler::SchedulerConfig scheduler;
  ServerSection server;
  SecuritySection security;
  LogSection log;
  MetricsSection metrics;
  TracingSection tracing;

  /// The first key that is out of bounds.
  Status validate() const;
};

}  // namespace sluice::server
