#include <csignal>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "client/inference_client.h"
#include "tests/bench/ran_program.h"
#include "tests/client/support/program.h"

namespace sluice::bench {
namespace {

class NullServer : public testing::Test {
 protected:
  NullServer() {
    std::string line;
    for (size_t bytes = 1; line.empty() || line.back() != '\n'; ++bytes) line = server_.read_out(bytes);
    addresses_ = nlohmann::json::parse(line);
  }
  std::string grpc() const { return addresses_["grpc"]; }
  std::string http() const { return "http://" + addresses_["http"].get<std::string>(); }

  test_support::Program server_{SLUICE_BENCH_NULL_PROGRAM, {"--token-interval-ms", "1"}};
  nlohmann::json addresses_;
};

TEST_F(NullServer, GivesAsManyTokensAsAskedOnEveryFront) {
  const std::vector<std::string> load{"--concurrency", "8", "--requests", "40", "--output-tokens", "5..20"};
  for (const std::string& url : {grpc(), http()}) {
    const Ran ran = run_bench(url, load);
    EXPECT_EQ(ran.exit_code, 0) << url << ran.err;
    EXPECT_EQ(ran.report["errors"], 0) << url << ran.out;
    EXPECT_EQ(ran.report["short_answers"], 0) << url;
    EXPECT_EQ(ran.report["uncounted_answers"], 0) << url;
    // The fifth token comes four intervals after the request, however late a busy client looks.
    EXPECT_GE(ran.report["e2e_ms"]["p50"], 3.9) << url;
  }
  std::vector<std::string> chat = load;
  chat.insert(chat.end(), {"--endpoint", "chat"});
  EXPECT_EQ(run_bench(http(), chat).report["errors"], 0);
}

TEST_F(NullServer, EndsWithItsStreamsWhenInterrupted) {
  client::InferenceClient client(grpc());
  v1::CompleteRequest request;
  request.mutable_token_ids()->add_ids(1);
  request.mutable_stopping()->set_max_tokens(1'000'000);
  int events = 0;
  const Status status = client.stream_complete(request, [&](const v1::CompleteEvent&) {
    if (++events == 3) server_.send_signal(SIGTERM);
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(server_.wait().exit_code, 0);
}

}  // namespace
}  // namespace sluice::bench
