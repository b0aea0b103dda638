#include "server/http_server.h"

#include <chrono>
#include <future>
#include <list>
#include <string>

#include <gtest/gtest.h>

#include "server/observability_routes.h"
#include "tests/server/http_client.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ListenAddress kAnyPort{"127.0.0.1", 0};
// Much more than the kernel's socket buffers hold, so that a write waits for its reader.
constexpr size_t kLargeBytes = size_t{64} << 20;

std::vector<HttpRoute> routes() {
  return {
      {"GET", "/hello",
       [](const HttpRequest& request) { return HttpResponse{.body = "hello " + request.query, .headers = {}}; }},
      {"POST", "/echo", [](const HttpRequest& request) { return HttpResponse{.body = request.body, .headers = {}}; }},
      {"GET", "/large",
       [](const HttpRequest&) { return HttpResponse{.body = std::string(kLargeBytes, 'x'), .headers = {}}; }}};
}

std::unique_ptr<HttpServer> start(const HttpLimits& limits = {}) {
  Result<std::unique_ptr<HttpServer>> server = HttpServer::start(kAnyPort, routes(), limits);
  EXPECT_TRUE(server.ok()) << server.status();
  return std::move(server).value();
}

/// A client that nothing else disturbs still gets its answer.
void expect_alive(const HttpServer& server) {
  EXPECT_EQ(HttpClient(server.address()).get("/hello").result_int(), 200U);
}

/// Far longer than a busy machine takes for what happens at once.
constexpr seconds kLong{60};

/// Whether it stops without waiting for a grace time of `kLong`.
bool stops_at_once(HttpServer& server) {
  const auto began = std::chrono::steady_clock::now();
  server.stop();
  return std::chrono::steady_clock::now() - began < kLong;
}

TEST(HttpServer, ABusyPortIsNamedWithAWayOut) {
  const auto first = start();
  const Status status = HttpServer::start(first->address(), routes()).status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "can't listen on " + first->address().text() +
                ": the port is in use by another program; choose another with --http-listen or server.http_listen, "
                "port 0 picks a free one");
}

TEST(HttpServer, AnAddressOfAnotherMachineIsRefused) {
  EXPECT_NE(HttpServer::start({"192.0.2.1", 0}, routes()).status().message().find("no such address"),
            std::string::npos);
  EXPECT_NE(HttpServer::start({"no such host", 0}, routes()).status().message().find("the host has no address"),
            std::string::npos);
}

TEST(HttpServer, ReportsThePortItGotAndServesThere) {
  const auto server = start();
  EXPECT_NE(server->address().port, 0);
  EXPECT_EQ(server->address().host, "127.0.0.1");
  EXPECT_EQ(HttpClient(server->address()).get("/hello?you").body(), "hello you");
}

TEST(HttpServer, ThePortIsFreeAgainAfterTheStop) {
  const auto first = start();
  expect_alive(*first);
  first->stop();
  EXPECT_TRUE(HttpServer::start(first->address(), routes()).ok());
}

TEST(HttpServer, HostileBytesGetA400AndHarmNobody) {
  const auto server = start();
  HttpClient other(server->address());
  EXPECT_EQ(other.get("/hello").result_int(), 200U);
  for (const std::string& bytes :
       {std::string("\0\0\0\0\r\n\r\n", 8),
        std::string("\x16\x03\x01\x02\x00\x01\x00", 7) + std::string(60, 'z') + "\r\n\r\n",
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), std::string("GET /hello\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nHost\r\n\r\n"), std::string("GET /hello HTTP/9.9\r\nHost: x\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n"),
        std::string("GET /hello HTTP/1.1\r\n\r\n"), std::string("GET /hello HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"),
        std::string("POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")}) {
    HttpClient client(server->address());
    client.send(bytes);
    const HttpClient::Response response = client.read();
    EXPECT_EQ(response.result_int(), 400U) << bytes;
    EXPECT_EQ(response[boost::beast::http::field::content_type], "application/json");
    EXPECT_FALSE(response.keep_alive());
    EXPECT_EQ(client.read_to_end(), "");
  }
  EXPECT_EQ(other.get("/hello").result_int(), 200U);
}

TEST(HttpServer, AConnectionThatEndsInTheMiddleOfARequestIsJustClosed) {
  const auto server = start();
  for (const char* const bytes : {"", "GET /he", "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n123"}) {
    HttpClient client(server->address());
    client.send(bytes);
    client.end_sending();
    EXPECT_EQ(client.read_to_end(), "") << bytes;
  }
  expect_alive(*server);
}

/// A request whose header, to the empty line, has this size; the bulk of it is in the request line or in a field.
std::string request_of(size_t header_bytes, bool is_line_long) {
  const std::string query = "GET /hello?";
  const std::string field = " HTTP/1.1\r\nHost: x\r\nX-Filler: ";
  const std::string filler(header_bytes - query.size() - field.size() - 4, 'a');
  return query + (is_line_long ? filler + field : field + filler) + "\r\n\r\n";
}

TEST(HttpServer, HoldsHeadersToTheirLimit) {
  const auto server = start();
  const size_t limit = HttpLimits().header_bytes;
  for (const bool is_line_long : {false, true}) {
    const auto status_of = [&](size_t header_bytes) {
      HttpClient client(server->address());
      client.send(request_of(header_bytes, is_line_long));
      return client.read().result_int();
    };
    EXPECT_EQ(status_of(limit), 200U) << is_line_long;
    EXPECT_EQ(status_of(limit + 1), 431U) << is_line_long;
    EXPECT_EQ(status_of(limit * 10), 431U) << is_line_long;
  }
  expect_alive(*server);
}

TEST(HttpServer, HoldsBodiesToTheirLimit) {
  const auto server = start();
  const uint64_t limit = HttpLimits().body_bytes;
  const auto send_body = [&](uint64_t bytes) {
    HttpClient client(server->address());
    client.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
                std::string(bytes, 'b'));
    return client.read();
  };
  EXPECT_EQ(send_body(limit).body().size(), limit);
  EXPECT_EQ(send_body(limit + 1).result_int(), 413U);
  EXPECT_EQ(send_body(limit * 10).result_int(), 413U);
  expect_alive(*server);
}

TEST(HttpServer, UnknownPathsAndMethodsAreAnsweredAndTheConnectionGoesOn) {
  const auto server = start();
  HttpClient client(server->address());
  const HttpClient::Response missing = client.get("/nothing\xc3\x28");
  EXPECT_EQ(missing.result_int(), 404U);
  EXPECT_EQ(
      missing.body(),
      R"({"error":{"message":"there is nothing at this path","type":"invalid_request_error","param":null,"code":"not_found"}})"
      "\n");
  client.send("BREW /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  const HttpClient::Response refused = client.read();
  EXPECT_EQ(refused.result_int(), 405U);
  EXPECT_EQ(refused[boost::beast::http::field::allow], "GET, HEAD");
  EXPECT_EQ(client.get("/echo")[boost::beast::http::field::allow], "POST");
  EXPECT_EQ(client.get("/hello").result_int(), 200U);
}

TEST(HttpServer, AbsoluteTargetsFindTheirPath) {
  const auto server = start();
  HttpClient client(server->address());
  const auto get = [&client](const std::string& target) {
    client.send("GET " + target + " HTTP/1.1\r\nHost: x\r\n\r\n");
    return client.read();
  };
  EXPECT_EQ(get("http://x/nothing").result_int(), 404U);
  EXPECT_EQ(get("http://x").result_int(), 404U);
  EXPECT_EQ(get("http://x?/hello").result_int(), 404U);
  EXPECT_EQ(get("ftp://x/hello").result_int(), 404U);
  EXPECT_EQ(get("http://x/hello?http://y/z").body(), "hello http://y/z");
  EXPECT_EQ(get("HTTP://[::1]:8080/hello").body(), "hello ");
  EXPECT_EQ(get("/hello?http://y/z").body(), "hello http://y/z");
}

TEST(HttpServer, HeadIsGetWithoutTheBody) {
  const auto server = start();
  HttpClient client(server->address());
  client.send("HEAD /hello?abc HTTP/1.1\r\nHost: x\r\n\r\n");
  const HttpClient::Response head = client.read(true);
  EXPECT_EQ(head.result_int(), 200U);
  EXPECT_EQ(head[boost::beast::http::field::content_length], "9");
  EXPECT_EQ(client.get("/hello?abc").body(), "hello abc") << "the next answer begins where HEAD's ended";
}

TEST(HttpServer, AnswersPipelinedRequestsInOrder) {
  const auto server = start();
  HttpClient client(server->address());
  std::string requests;
  for (int i = 0; i < 50; ++i) requests += "GET /hello?" + std::to_string(i) + " HTTP/1.1\r\nHost: x\r\n\r\n";
  client.send(requests);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.read().body(), "hello " + std::to_string(i));
}

TEST(HttpServer, ClosesWhenTheClientAsksForItOrSpeaksHttp10) {
  const auto server = start();
  for (const char* const bytes :
       {"GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", "GET /hello HTTP/1.0\r\n\r\n"}) {
    HttpClient client(server->address());
    client.send(bytes);
    EXPECT_EQ(client.read().result_int(), 200U);
    EXPECT_EQ(client.read_to_end(), "");
  }
}

TEST(HttpServer, ARequestThatDripsInIsCutOff) {
  const auto server = start({.request_timeout = milliseconds(50)});
  HttpClient silent(server->address());
  HttpClient dripping(server->address());
  dripping.send("GET /hello HTTP/1.1\r\nHo");
  EXPECT_EQ(silent.read_to_end(), "");
  EXPECT_EQ(dripping.read_to_end(), "");
}

TEST(HttpServer, AnIdleConnectionIsClosed) {
  const auto server = start({.idle_timeout = seconds(1)});  // a busy client says something before
  HttpClient client(server->address());
  EXPECT_EQ(client.get("/hello").result_int(), 200U);
  EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, AnAnswerThatNobodyReadsIsCutOff) {
  const auto server = start({.connections = 1, .write_timeout = milliseconds(50)});
  HttpClient client(server->address());
  client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  static_cast<void>(client.read_some());
  // There is room for another client only once the one that doesn't read is gone.
  while (HttpClient(server->address()).get("/hello").result_int() != 200U) {
  }
  EXPECT_LT(client.read_to_end().size(), kLargeBytes);
}

TEST(HttpServer, TurnsAwayWhatIsBeyondItsConnectionsWhenNoneIsIdle) {
  const auto server = start({.connections = 2, .request_timeout = kLong, .write_timeout = kLong});
  HttpClient being_answered(server->address());
  being_answered.send("GET /large HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
  const std::string first = being_answered.read_some();
  HttpClient asking(server->address());
  // In one segment: the second request has begun when the first is answered.
  asking.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\nGET /hello HTTP/1.1\r\n");
  EXPECT_EQ(asking.read().result_int(), 200U);
  HttpClient refused(server->address());
  const HttpClient::Response answer = refused.read();
  EXPECT_EQ(answer.result_int(), 503U);
  EXPECT_EQ(answer[boost::beast::http::field::retry_after], "1");
  EXPECT_NE(answer.body().find("too many connections"), std::string::npos);
  EXPECT_EQ(refused.read_to_end(), "");
  asking.send("Host: x\r\n\r\n");
  EXPECT_EQ(asking.read().result_int(), 200U);
  EXPECT_GT(first.size() + being_answered.read_to_end().size(), kLargeBytes);
}

TEST(HttpServer, TheConnectionThatIsIdleLongestMakesRoomForANewOne) {
  const auto server = start({.connections = 2});
  HttpClient first(server->address());
  HttpClient second(server->address());
  for (HttpClient* const client : {&first, &second}) EXPECT_EQ(client->get("/hello").result_int(), 200U);
  HttpClient third(server->address());
  EXPECT_EQ(third.get("/hello").result_int(), 200U);
  EXPECT_EQ(first.read_to_end(), "");
  EXPECT_EQ(second.get("/hello").result_int(), 200U) << "so the third has been idle for longer now";
  expect_alive(*server);
  EXPECT_EQ(third.read_to_end(), "");
  EXPECT_EQ(second.get("/hello").result_int(), 200U);
}

TEST(HttpServer, AConnectionThatNeverSaidAnythingMakesRoomToo) {
  const auto server = start({.connections = 1});
  HttpClient silent(server->address());
  expect_alive(*server);
  EXPECT_EQ(silent.read_to_end(), "");
}

TEST(B29_HttpServer, c_stops_at_once_with_idle_connections_open) {
  const auto server = start({.stop_grace = kLong});
  std::list<HttpClient> clients;
  for (int i = 0; i < 5; ++i) EXPECT_EQ(clients.emplace_back(server->address()).get("/hello").result_int(), 200U);
  HttpClient silent(server->address());
  HttpClient dripping(server->address());
  dripping.send("GET /hello HTTP/1.1\r\nHo");
  EXPECT_TRUE(stops_at_once(*server));
  for (HttpClient& client : clients) EXPECT_EQ(client.read_to_end(), "");
}

TEST(HttpServer, LetsAnAnswerBeingWrittenFinishWhenItStops) {
  const auto server = start({.write_timeout = kLong, .stop_grace = kLong});
  HttpClient client(server->address());
  client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  // The handler has run once the answer's first bytes are there.
  const std::string first = client.read_some();
  std::future<void> stopped = std::async(std::launch::async, [&] { server->stop(); });
  const std::string rest = client.read_to_end();
  stopped.get();
  EXPECT_GT(first.size() + rest.size(), kLargeBytes);
}

TEST(HttpServer, StopsAfterTheGraceTimeWhenNobodyReads) {
  const auto server = start({.stop_grace = milliseconds(20)});
  HttpClient client(server->address());
  client.send("GET /large HTTP/1.1\r\nHost: x\r\n\r\n");
  static_cast<void>(client.read_some());
  EXPECT_TRUE(stops_at_once(*server));
  EXPECT_LT(client.read_to_end().size(), kLargeBytes);
}

TEST(HttpServer, ASecondStopDoesNothing) {
  const auto server = start();
  server->stop();
  server->stop();
}

TEST(HttpServer, ServesManyClientsAtOnce) {
  const auto server = start();
  std::vector<std::future<int>> clients;
  for (int i = 0; i < 8; ++i) {
    clients.push_back(std::async(std::launch::async, [&server] {
      HttpClient client(server->address());
      int good = 0;
      for (int n = 0; n < 50; ++n) good += client.get("/hello").result_int() == 200U ? 1 : 0;
      return good;
    }));
  }
  for (std::future<int>& client : clients) EXPECT_EQ(client.get(), 50);
}

/// What the three routes answer, with these sources.
HttpResponse ask(const std::string& path, const Health& health, Readiness readiness) {
  const HttpRouter router(observability_routes({.scrape = [] { return std::string("sluice_x 1\n"); },
                                                .health = [health] { return health; },
                                                .readiness = [readiness] { return readiness; }}));
  return std::get<HttpResponse>(
      router.decide({.method = "GET", .path = path, .query = "", .body = "", .headers = {}, .body_lease = {}}));
}

const Health kHealthy{};
const Health kStalled{HealthState::kStalled, "a tick takes too long"};
const Health kFailing{HealthState::kFailing, "the device is gone"};

TEST(HttpObservabilityRoutes, HealthFollowsTheLoop) {
  EXPECT_EQ(ask("/healthz", kStalled, Readiness::kReady).status, 503);
  EXPECT_EQ(ask("/healthz", kStalled, Readiness::kReady).body, "stalled: a tick takes too long\n");
  EXPECT_EQ(ask("/healthz", kFailing, Readiness::kReady).status, 503);
  EXPECT_EQ(ask("/healthz", kFailing, Readiness::kReady).body, "failing: the device is gone\n");
  EXPECT_EQ(ask("/healthz", kHealthy, Readiness::kReady).status, 200);
  EXPECT_EQ(ask("/healthz", kHealthy, Readiness::kDraining).status, 200);
  EXPECT_EQ(ask("/healthz", kHealthy, Readiness::kLoading).body, "ok\n");
}

TEST(HttpObservabilityRoutes, ReadyOnlyWhenNewRequestsAreServed) {
  EXPECT_EQ(ask("/readyz", kHealthy, Readiness::kLoading).status, 503);
  EXPECT_EQ(ask("/readyz", kHealthy, Readiness::kDraining).status, 503);
  EXPECT_EQ(ask("/readyz", kStalled, Readiness::kReady).status, 503);
  EXPECT_EQ(ask("/readyz", kFailing, Readiness::kReady).status, 503);
  EXPECT_EQ(ask("/readyz", kFailing, Readiness::kReady).body, "failing: the device is gone\n");
  EXPECT_EQ(ask("/readyz", kFailing, Readiness::kDraining).body, "draining\n");
  EXPECT_EQ(ask("/readyz", kHealthy, Readiness::kReady).status, 200);
}

TEST(HttpObservabilityRoutes, MetricsHaveTheTypePrometheusAsksFor) {
  const HttpResponse response = ask("/metrics", kStalled, Readiness::kDraining);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.content_type, "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_EQ(response.body, "sluice_x 1\n");
}

}  // namespace
}  // namespace sluice::server
