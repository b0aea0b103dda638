#include "client/inference_client.h"

#include <cstdlib>
#include <filesystem>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/client/support/scripted_server.h"

namespace sluice::client {
namespace {

using std::chrono::milliseconds;
using test_support::error_event;
using test_support::EventWriter;
using test_support::finished_event;
using test_support::Gate;
using test_support::prompt_info_event;
using test_support::Script;
using test_support::ScriptedServer;
using test_support::tokens_event;

v1::CompleteRequest request_of(const std::string& text) {
  v1::CompleteRequest request;
  request.set_text(text);
  return request;
}

grpc::Status refuse(grpc::ServerContext& context) {
  context.AddTrailingMetadata("retry-after-ms", "250");
  return {grpc::StatusCode::RESOURCE_EXHAUSTED, "the queue is full"};
}

/// Streams tokens until the call is cancelled.
grpc::Status endless(EventWriter& writer) {
  writer.Write(prompt_info_event(1));
  while (writer.Write(tokens_event("a", {1}))) {
  }
  return grpc::Status::CANCELLED;
}

/// A folder of its own for a unix socket.
class SocketFolder {
 public:
  SocketFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "sluice_client_XXXXXX").string();
    path_ = mkdtemp(pattern.data());
  }
  ~SocketFolder() { std::filesystem::remove_all(path_); }
  std::string address() const { return "unix:" + (path_ / "socket").string(); }

 private:
  std::filesystem::path path_;
};

TEST(InferenceClient, SaysWhatToDoWhenNobodyListens) {
  const SocketFolder folder;
  InferenceClient client(folder.address());
  const Status status = client.get_load().status();
  EXPECT_EQ(status.code(), StatusCode::kUnavailable);
  EXPECT_NE(status.message().find("cannot connect to " + folder.address()), std::string::npos) << status;
  EXPECT_NE(status.message().find("is sluiced running?"), std::string::npos) << status;
}

TEST(InferenceClient, KeepsTheServersOwnUnavailable) {
  ScriptedServer server({.complete = [](const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the daemon is draining");
  }});
  EXPECT_EQ(InferenceClient(server.address()).complete(request_of("Hi")).status(),
            unavailable("the daemon is draining"));
}

TEST(InferenceClient, ReportsRetryAfterOfARefusedStream) {
  ScriptedServer server(
      {.stream_complete = [](grpc::ServerContext& context, const auto&, auto&) { return refuse(context); }});
  InferenceClient client(server.address());
  const Status status = client.stream_complete(request_of("Hi"), [](const auto&) { FAIL(); });
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(status.message(), "the queue is full");
  EXPECT_EQ(status.retry_after_ms(), 250);
}

TEST(InferenceClient, KeepsTheFieldsNameInTheMessage) {
  ScriptedServer server({.complete = [](const auto&, auto&) {
    return grpc::Status(grpc::StatusCode::INVALID_ARGUMENT, "sampling.top_p must be in (0, 1]");
  }});
  const Status status = InferenceClient(server.address()).complete(request_of("Hi")).status();
  EXPECT_EQ(status, invalid_argument("sampling.top_p must be in (0, 1]"));
}

TEST(InferenceClient, GivesWhatCameBeforeAnErrorEvent) {
  ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(prompt_info_event(1));
    writer.Write(tokens_event("A", {1}));
    writer.Write(error_event(grpc::StatusCode::INTERNAL, "the engine failed"));
    return grpc::Status::OK;
  }});
  std::string text;
  InferenceClient client(server.address());
  const Status status =
      client.stream_complete(request_of("Hi"), [&](const v1::CompleteEvent& event) { text += event.tokens().text(); });
  EXPECT_EQ(status, internal_error("the engine failed"));
  EXPECT_EQ(text, "A");
}

TEST(InferenceClient, AStreamThatJustStopsIsAnError) {
  ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(tokens_event("A", {1}));
    return grpc::Status::OK;
  }});
  const Status status = InferenceClient(server.address()).stream_complete(request_of("Hi"), [](const auto&) {});
  EXPECT_EQ(status.code(), StatusCode::kInternal);
}

TEST(InferenceClient, GivesEventsInOrder) {
  ScriptedServer server({.stream_complete = [](auto&, const v1::CompleteRequest& request, EventWriter& writer) {
    writer.Write(prompt_info_event(1));
    for (int i = 0; i < 100; ++i) writer.Write(tokens_event(request.text(), {i}));
    writer.Write(finished_event(1, 100));
    return grpc::Status::OK;
  }});
  std::vector<int32_t> ids;
  InferenceClient client(server.address());
  const auto on_event = [&](const v1::CompleteEvent& event) {
    for (const v1::Token& token : event.tokens().tokens()) ids.push_back(token.id());
  };
  ASSERT_TRUE(client.stream_complete(request_of("Hi"), on_event).ok());
  ASSERT_EQ(ids.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ids[static_cast<size_t>(i)], i);
}

TEST(InferenceClient, ReceivesMessagesBeyondTheDefaultLimitOf4MiB) {
  ScriptedServer server({.tokenize = [](const v1::TokenizeRequest&, v1::TokenizeResponse& response) {
    response.add_pieces(std::string((4 << 20) + 1, 'a'));
    return grpc::Status::OK;
  }});
  const auto response = InferenceClient(server.address()).tokenize(v1::TokenizeRequest());
  ASSERT_TRUE(response.ok()) << response.status();
  ASSERT_EQ(response->pieces_size(), 1);
  EXPECT_EQ(response->pieces(0).size(), size_t{(4 << 20) + 1});
}

TEST(InferenceClient, TimeoutEndsAStream) {
  ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) { return endless(writer); }});
  InferenceClient client(server.address());
  const Status status = client.stream_complete(request_of("Hi"), [](const auto&) {}, {.timeout = milliseconds(100)});
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
}

TEST(InferenceClient, CancellationEndsAStreamHereAndOnTheServer) {
  Gate ended_on_server;
  ScriptedServer server({.stream_complete = [&](auto&, const auto&, EventWriter& writer) {
    const grpc::Status status = endless(writer);
    ended_on_server.open();
    return status;
  }});
  InferenceClient client(server.address());
  Cancellation cancellation;
  std::thread canceller;
  const auto cancel_at_first_token = [&](const v1::CompleteEvent& event) {
    if (event.has_tokens() && !canceller.joinable()) canceller = std::thread([&] { cancellation.cancel(); });
  };
  const Status status =
      client.stream_complete(request_of("Hi"), cancel_at_first_token, {.cancellation = &cancellation});
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
  ended_on_server.wait();
  canceller.join();
}

TEST(InferenceClient, CancellationBeforeTheCallEndsItAtOnce) {
  ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) { return endless(writer); }});
  InferenceClient client(server.address());
  Cancellation cancellation;
  cancellation.cancel();
  const Status status = client.stream_complete(request_of("Hi"), [](const auto&) {}, {.cancellation = &cancellation});
  EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST(InferenceClient, WaitsForADaemonThatStartsLater) {
  const SocketFolder folder;
  InferenceClient client(folder.address());
  EXPECT_EQ(client.get_load().status().code(), StatusCode::kUnavailable);
  std::optional<ScriptedServer> server;
  std::thread starter([&] { server.emplace(Script{}, folder.address()); });
  EXPECT_TRUE(client.wait_until_ready(std::chrono::minutes(1)).ok());
  starter.join();
}

TEST(InferenceClient, IsNotReadyWhileTheHealthSaysNotServing) {
  ScriptedServer server({});
  server.set_serving(false);
  InferenceClient client(server.address());
  const Status status = client.wait_until_ready(milliseconds(100));
  EXPECT_EQ(status.code(), StatusCode::kDeadlineExceeded);
  EXPECT_NE(status.message().find("was not ready within 100 ms"), std::string::npos) << status;
  std::thread healer([&] { server.set_serving(true); });
  EXPECT_TRUE(client.wait_until_ready(std::chrono::minutes(1)).ok());
  healer.join();
}

TEST(StreamCall, ReportsEventsThenTheEndOnce) {
  ScriptedServer server({.stream_complete = [](auto&, const auto&, EventWriter& writer) {
    writer.Write(tokens_event("A", {1}));
    writer.Write(finished_event(1, 1));
    return grpc::Status::OK;
  }});
  InferenceClient client(server.address());
  Gate done;
  std::string text;
  Status end = internal_error("not ended");
  const auto call =
      client.make_stream(request_of("Hi"), {.on_event = [&](const auto& event) { text += event.tokens().text(); },
                                            .on_done =
                                                [&](const Status& status) {
                                                  end = status;
                                                  done.open();
                                                }});
  call->start();
  done.wait();
  EXPECT_TRUE(end.ok()) << end;
  EXPECT_EQ(text, "A");
}

TEST(StreamCall, ReportsARefusal) {
  ScriptedServer server(
      {.stream_complete = [](grpc::ServerContext& context, const auto&, auto&) { return refuse(context); }});
  InferenceClient client(server.address());
  Gate done;
  Status end;
  const auto call = client.make_stream(request_of("Hi"), {.on_event = [](const auto&) {},
                                                          .on_done =
                                                              [&](const Status& status) {
                                                                end = status;
                                                                done.open();
                                                              }});
  call->start();
  done.wait();
  EXPECT_EQ(end.code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(end.retry_after_ms(), 250);
}

}  // namespace
}  // namespace sluice::client
