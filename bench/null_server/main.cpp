#include <future>
#include <iostream>
#include <string>
#include <thread>
#include <utility>

#include <CLI/CLI.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include "base/clock.h"
#include "base/signal_watcher.h"
#include "bench/null_server/null_grpc.h"
#include "bench/null_server/null_http.h"
#include "bench/null_server/pacing.h"

namespace {

struct Options {
  std::string grpc = "127.0.0.1:0";
  std::string http = "127.0.0.1:0";
  double interval_ms = 5;
};

int serve(const Options& options) {
  using namespace sluice;
  const SteadyClock clock;
  boost::asio::io_context io(1);
  null_server::Pacing pacing(
      io, clock, std::chrono::duration_cast<Duration>(std::chrono::duration<double, std::milli>(options.interval_ms)));
  std::promise<void> interrupted;
  // Before the servers, which start threads.
  const SignalWatcher watcher([&, is_first = true](int) mutable {
    if (std::exchange(is_first, false)) interrupted.set_value();
  });
  const auto http = null_server::NullHttp::start(options.http, io, pacing);
  auto grpc = null_server::NullGrpc::start(options.grpc, io, pacing);
  for (const Status& status : {http.status(), grpc.status()}) {
    if (status.ok()) continue;
    std::cerr << "sluice-bench-null: " << status << std::endl;
    return 1;
  }
  std::cout << R"({"grpc":")" << (*grpc)->address() << R"(","http":")" << (*http)->address() << R"("})" << std::endl;
  std::thread thread([&io] {
    const auto work = boost::asio::make_work_guard(io);
    io.run();
  });
  interrupted.get_future().wait();
  // Its streams end on the I/O thread.
  (*grpc).reset();
  io.stop();
  thread.join();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Answers completions over gRPC and HTTP with tokens at a given pace, and computes nothing: what it takes "
      "to load it is what the load generator takes.",
      "sluice-bench-null");
  Options options;
  app.add_option("--grpc-listen", options.grpc, "IP:PORT; port 0 takes a free one")->capture_default_str();
  app.add_option("--http-listen", options.http, "IP:PORT; port 0 takes a free one")->capture_default_str();
  app.add_option("--token-interval-ms", options.interval_ms, "Between the tokens of a stream; 0: all at once")
      ->check(CLI::Range(0.0, 60'000.0))
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  return serve(options);
}
