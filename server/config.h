#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "scheduler/scheduler_config.h"

namespace sluice::server {

/// Section `model`.
struct ModelSection {
  std::string path;         ///< GGUF file
  std::string name;         ///< name that requests may give; empty: the file's own name
  int32_t max_context = 0;  ///< tokens of prompt and answer together; 0: what the model was trained for
};

/// Section `engine`.
struct EngineSection {
  std::string device = "auto";   ///< auto or cpu
  int32_t threads = 0;           ///< compute threads; 0: the cores this process may use
  std::string cpu_isa = "auto";  ///< auto, portable, avx2 or avx512
};

/// Section `kv`.
struct KvSection {
  std::string memory = "25%";  ///< bytes, "512MiB", "2GiB", or a share of the memory this process may still use, "25%"
  int32_t block_size = 16;     ///< tokens in a block
  std::string dtype = "f16";   ///< f16 or bf16
};

/// Section `server`.
struct ServerSection {
  std::string grpc_listen = "127.0.0.1:50051";
  std::string http_listen = "127.0.0.1:8080";
  int32_t drain_timeout_ms = 30000;      ///< running and queued requests may take this long after SIGTERM
  int32_t stall_timeout_ms = 10000;      ///< a step longer than this makes the daemon unhealthy
  int32_t stream_buffer_tokens = 16384;  ///< tokens held for a reader that doesn't read; past that its request ends
  int32_t max_message_mib = 64;          ///< largest gRPC message
};

/// Section `log`.
struct LogSection {
  std::string level = "info";  ///< debug, info, warning or error
};

/// Everything that can be configured; the defaults are those of configs/default.yaml.
struct Config {
  ModelSection model;
  EngineSection engine;
  KvSection kv;
  scheduler::SchedulerConfig scheduler;
  ServerSection server;
  LogSection log;

  /// The error's field is the key, e.g. "kv.block_size".
  Status validate() const;
};

}  // namespace sluice::server
