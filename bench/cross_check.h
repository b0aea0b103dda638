#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "bench/http_client.h"
#include "bench/measurements.h"
#include "bench/server_histogram.h"
#include "bench/target_options.h"
#include "client/cancellation.h"

namespace sluice::bench {

/// One figure as the client measured it, and as the server's own histogram has it.
struct Comparison {
  std::string name;  ///< "TTFT p50"
  double client_ms = 0;
  double server_ms = 0;
  double tolerance_ms = 0;  ///< 5 ms and one bucket of the server's histogram
  bool agrees() const;
};

struct ServerView {
  std::vector<Comparison> comparisons;
  int64_t server_answers = 0;  ///< first tokens that the server counted meanwhile; more than ours if others called too
  std::string problem;         ///< not empty: why there is nothing to compare
};

/// Reads a Sluice daemon's /metrics before and after a measurement and holds its TTFT, TPOT and ITL against ours. The
/// client's TTFT is the one from sending, as a server can't know when a request was meant to come.
class CrossCheck {
 public:
  /// Reads the metrics at `url`, http://H:P/metrics, or where that is empty at the target's own address if it is a
  /// Sluice daemon's HTTP one. Null when there is nowhere to read them. Errors are of a `url` that was given.
  static Result<std::unique_ptr<CrossCheck>> open(const std::string& url, const TargetConfig& target,
                                                  client::Cancellation& cancellation);

  /// Before the first measured request.
  void begin();
  /// After the last answer.
  ServerView end(const Report& report);

 private:
  CrossCheck(std::unique_ptr<HttpClient> client, std::string path, client::Cancellation& cancellation);
  Result<std::string> read();

  const std::unique_ptr<HttpClient> client_;
  const std::string path_;
  client::Cancellation& cancellation_;
  Result<std::string> before_;
};

/// Compares what came between two expositions with a report.
ServerView compare_with_server(const std::string& before, const std::string& after, const Report& report);

}  // namespace sluice::bench
