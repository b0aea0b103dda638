#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "base/mutex.h"
#include "tests/bench/ran_program.h"
#include "tests/client/support/scripted_server.h"

namespace sluice::bench {
namespace {

using testing::HasSubstr;

/// A trace on disk while it lives.
class TraceFile {
 public:
  explicit TraceFile(const std::vector<nlohmann::json>& lines)
      : path_(std::filesystem::temp_directory_path() / ("sluice_trace_" + std::to_string(getpid()))) {
    std::ofstream file(path_);
    for (const nlohmann::json& line : lines) file << line << '\n';
  }
  ~TraceFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

nlohmann::json line(double arrival, int prompt, int completion, const std::string& tenant) {
  return {{"arrival", arrival},
          {"prompt_tokens", prompt},
          {"cached_tokens", 0},
          {"max_tokens", 50},
          {"n", 1},
          {"priority", 0},
          {"tenant", tenant},
          {"completion_tokens", completion},
          {"outcome", "length"}};
}

TEST(ReplayRun, NeedsAServerOrSimulatedTime) {
  EXPECT_EQ(run_program_here({"replay", "t"}).exit_code, 2);
  EXPECT_THAT(run_program_here({"replay", "t"}).err, HasSubstr("give a server to send the trace to, or --simulate"));
  EXPECT_EQ(run_program_here({"replay", "t", "127.0.0.1:1", "--simulate"}).exit_code, 2);
  EXPECT_EQ(run_program_here({"replay", "t", "127.0.0.1:1", "--speed", "0"}).exit_code, 2);
}

TEST(ReplayRun, SendsTheTracesLengthsForItsTenantsInItsOrder) {
  Mutex mutex;
  std::vector<std::string> asked;
  const test_support::ScriptedServer server(
      {.stream_complete =
           [&](grpc::ServerContext& context, const v1::CompleteRequest& request, test_support::EventWriter& writer) {
             const auto tenant = context.client_metadata().find("x-tenant");
             const std::string name = tenant == context.client_metadata().end()
                                          ? "-"
                                          : std::string(tenant->second.data(), tenant->second.size());
             {
               const MutexLock lock(mutex);
               asked.push_back(std::to_string(request.token_ids().ids_size()) + "/" +
                               std::to_string(request.stopping().max_tokens()) + "/" + name);
             }
             return test_support::answer_at_once(request, writer);
           },
       .get_model = test_support::small_model});
  const TraceFile trace({line(100, 5, 3, "a"), line(100.2, 7, 4, "b"), line(100.4, 9, 5, "")});
  // One at a time: the server's threads take those that are sent together in any order.
  const Ran ran = run_program_here(
      {"replay", trace.path(), server.address(), "--speed", "2", "--warmup", "0", "--in-flight-max", "1"});
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  EXPECT_EQ(asked, (std::vector<std::string>{"5/3/a", "7/4/b", "9/5/-"}));
  EXPECT_GE(ran.report["duration_s"], 0.2);  // 0.4 s at twice the speed
  EXPECT_EQ(ran.report["output_tokens"], 12);
  EXPECT_EQ(ran.report["short_answers"], 0);
  EXPECT_THAT(ran.out, HasSubstr("the trace's 3 arrivals"));
}

TEST(ReplayRun, AWarmUpDoesNotMoveTheLengths) {
  Mutex mutex;
  std::vector<int> asked;
  const test_support::ScriptedServer server(
      {.stream_complete =
           [&](auto&, const v1::CompleteRequest& request, test_support::EventWriter& writer) {
             {
               const MutexLock lock(mutex);
               asked.push_back(request.token_ids().ids_size());
             }
             return test_support::answer_at_once(request, writer);
           },
       .get_model = test_support::small_model});
  const TraceFile trace({line(0, 5, 3, ""), line(0.05, 7, 4, ""), line(0.1, 9, 5, "")});
  run_program_here({"replay", trace.path(), server.address(), "--warmup", "1", "--in-flight-max", "1"});
  EXPECT_EQ(asked, (std::vector<int>{5, 5, 7, 9}));
}

}  // namespace
}  // namespace sluice::bench
