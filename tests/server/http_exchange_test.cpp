#include "server/http_exchange.h"

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/mutex.h"
#include "server/http_server.h"
#include "tests/server/http_client.h"
#include "tests/server/test_daemon.h"

namespace sluice::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const ListenAddress kAnyPort{"127.0.0.1", 0};

/// Keeps what has been asked, until a test answers it on its own thread.
class Desk {
 public:
  HttpLaterHandler handler() {
    return [this](const std::shared_ptr<HttpExchange>& exchange) {
      exchange->when_closed([this](HttpEnd end) { (end == HttpEnd::kClientGone ? gone : answered).fetch_add(1); });
      const MutexLock lock(mutex_);
      exchanges_.push_back(exchange);
    };
  }
  /// The exchange of this place; waits for it.
  std::shared_ptr<HttpExchange> at(size_t place) {
    std::shared_ptr<HttpExchange> found;
    EXPECT_TRUE(eventually([&] {
      const MutexLock lock(mutex_);
      if (exchanges_.size() > place) found = exchanges_[place];
      return found != nullptr;
    }));
    return found;
  }
  size_t count() {
    const MutexLock lock(mutex_);
    return exchanges_.size();
  }
  std::atomic<int> gone{0};
  std::atomic<int> answered{0};

 private:
  Mutex mutex_;
  std::vector<std::shared_ptr<HttpExchange>> exchanges_ SLUICE_GUARDED_BY(mutex_);
};

HttpResponse plain(std::string body) {
  return {.status = 200, .content_type = "text/plain", .body = std::move(body), .headers = {}};
}

/// A body of pieces that a test hands in.
class Tap final : public HttpBodySource {
 public:
  explicit Tap(size_t piece_bytes = 0) : piece_bytes_(piece_bytes) {}
  Piece next(size_t /*bytes_max*/) override {
    const MutexLock lock(mutex_);
    ++pulls_;
    if (piece_bytes_ > 0) return {std::string(piece_bytes_, 'x'), false};
    return std::exchange(next_, {});
  }
  void put(Piece piece) {
    const MutexLock lock(mutex_);
    next_.bytes += piece.bytes;
    next_.is_last = piece.is_last;
  }
  int pulls() {
    const MutexLock lock(mutex_);
    return pulls_;
  }

 private:
  const size_t piece_bytes_;  ///< 0: what is put, else pieces of this size without end
  Mutex mutex_;
  Piece next_ SLUICE_GUARDED_BY(mutex_);
  int pulls_ SLUICE_GUARDED_BY(mutex_) = 0;
};

class HttpExchangeTest : public ::testing::Test {
 protected:
  std::unique_ptr<HttpServer> start(const HttpLimits& limits = {}, std::string cors = {}) {
    Result<std::unique_ptr<HttpServer>> server = HttpServer::start(
        kAnyPort,
        {{"POST", "/ask", desk_.handler()},
         {"GET", "/hello", HttpHandler([](const HttpRequest&) { return plain("hello"); })},
         {"GET", "/files/", HttpHandler([](const HttpRequest& request) { return plain(request.path); })}},
        limits, std::move(cors));
    SLUICE_CHECK(server.ok());
    return std::move(server).value();
  }

  Desk desk_;
};

TEST_F(HttpExchangeTest, AnAnswerMayComeLaterFromAnotherThread) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "question", "X-Thing: value\r\n");
  const auto exchange = desk_.at(0);
  EXPECT_EQ(exchange->request().body, "question");
  EXPECT_EQ(*exchange->request().header("x-thing"), "value");
  EXPECT_EQ(exchange->request().header("x-other"), nullptr);
  EXPECT_EQ(HttpClient(server->address()).get("/hello").body(), "hello") << "others are served meanwhile";
  exchange->answer(plain("first"));
  exchange->answer(plain("second"));
  EXPECT_EQ(client.read().body(), "first");
  EXPECT_EQ(client.get("/hello").body(), "hello") << "the second answer went nowhere";
  EXPECT_TRUE(eventually([&] { return desk_.answered == 1; }));
  EXPECT_TRUE(exchange->is_closed());
  EXPECT_EQ(desk_.gone, 0);
}

TEST_F(HttpExchangeTest, TheNextRequestWaitsForTheAnswer) {
  const auto server = start();
  HttpClient client(server->address());
  for (const char* const body : {"1", "2", "3"}) client.send_post("/ask", body);
  for (size_t i = 0; i < 3; ++i) {
    const auto exchange = desk_.at(i);
    EXPECT_EQ(desk_.count(), i + 1);
    exchange->answer(plain("answer " + exchange->request().body));
    EXPECT_EQ(client.read().body(), "answer " + std::to_string(i + 1));
  }
}

TEST_F(HttpExchangeTest, RequestsSentAheadWhileAnAnswerIsAwaitedAreServedAfterIt) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  const auto first = desk_.at(0);
  client.send_post("/ask", std::string(50000, 'b'));
  client.send("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n");
  first->answer(plain("1"));
  EXPECT_EQ(client.read().body(), "1");
  desk_.at(1)->answer(plain("2"));
  EXPECT_EQ(client.read().body(), "2");
  EXPECT_EQ(client.read().body(), "hello");
}

TEST_F(HttpExchangeTest, AClientThatResetsIsNoticedAtOnce) {
  const auto server = start();
  {
    HttpClient client(server->address());
    client.send_post("/ask", "1");
    static_cast<void>(desk_.at(0));
    client.reset();
  }
  EXPECT_TRUE(eventually([&] { return desk_.gone == 1; }));
  desk_.at(0)->answer(plain("for nobody"));
}

TEST_F(HttpExchangeTest, AClientThatClosesIsNoticedThoughNothingIsToldToIt) {
  const auto server = start();
  {
    HttpClient client(server->address());
    client.send_post("/ask", "1");
    static_cast<void>(desk_.at(0));
  }
  EXPECT_TRUE(eventually([&] { return desk_.gone == 1; }));
}

TEST_F(HttpExchangeTest, AClientThatOnlyEndsItsSendingGetsItsAnswer) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  client.end_sending();
  desk_.at(0)->answer(plain("answer"));
  EXPECT_EQ(client.read().body(), "answer");
  EXPECT_EQ(client.read_to_end(), "");
}

TEST_F(HttpExchangeTest, WhoWaitsLongAfterEndingItsSendingIsAskedWhetherItIsStillThere) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  client.end_sending();
  EXPECT_EQ(client.read_some(), "HTTP/1.1 100 Continue\r\n\r\n");
  desk_.at(0)->answer(plain("answer"));
  EXPECT_EQ(client.read().body(), "answer");
  EXPECT_EQ(desk_.gone, 0);
}

TEST_F(HttpExchangeTest, AClientThatClosesDuringAStreamIsNoticedByAComment) {
  const auto server = start();
  const auto tap = std::make_shared<Tap>();
  {
    HttpClient client(server->address());
    client.send_post("/ask", "1");
    tap->put({"data: 1\n\n", false});
    desk_.at(0)->stream(plain(""), tap);
    EXPECT_NE(client.read_some().find("200 OK"), std::string::npos);
  }
  EXPECT_TRUE(eventually([&] { return desk_.gone == 1; }));
}

TEST_F(HttpExchangeTest, AStreamComesInChunksAndTheConnectionGoesOn) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  const auto exchange = desk_.at(0);
  const auto tap = std::make_shared<Tap>();
  exchange->stream(plain(""), tap);
  EXPECT_TRUE(eventually([&] { return tap->pulls() > 0; }));
  for (const char* const piece : {"one ", "two "}) {
    const int pulls = tap->pulls();
    tap->put({piece, false});
    exchange->wake();
    EXPECT_TRUE(eventually([&] { return tap->pulls() > pulls; }));
  }
  tap->put({"three", true});
  exchange->wake();
  const HttpClient::Response response = client.read();
  EXPECT_TRUE(response.chunked());
  EXPECT_EQ(response.body(), "one two three");
  EXPECT_EQ(client.get("/hello").body(), "hello");
}

TEST_F(HttpExchangeTest, AnOldClientGetsAStreamUntilTheConnectionCloses) {
  const auto server = start();
  HttpClient client(server->address());
  client.send("POST /ask HTTP/1.0\r\nContent-Length: 1\r\n\r\n1");
  const auto tap = std::make_shared<Tap>();
  tap->put({"all", true});
  desk_.at(0)->stream(plain(""), tap);
  const std::string text = client.read_to_end();
  EXPECT_EQ(text.substr(text.size() - 7), "\r\n\r\nall");
  EXPECT_EQ(text.find("chunked"), std::string::npos);
}

TEST_F(HttpExchangeTest, AStreamIsPulledOnlyAsFastAsItIsRead) {
  const auto server = start({.write_timeout = milliseconds(200)});
  const auto tap = std::make_shared<Tap>(size_t{64} << 10);
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  desk_.at(0)->stream(plain(""), tap);
  EXPECT_TRUE(eventually([&] { return desk_.gone == 1; })) << "a client that reads nothing is given up";
  EXPECT_LT(tap->pulls(), 1000) << "what the sockets hold, not what there is";
}

TEST_F(HttpExchangeTest, ABodyIsInvitedWhenTheClientAsks) {
  const auto server = start();
  HttpClient client(server->address());
  client.send("POST /ask HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read_some(), "HTTP/1.1 100 Continue\r\n\r\n");
  client.send("body");
  const auto exchange = desk_.at(0);
  EXPECT_EQ(exchange->request().body, "body");
  exchange->answer(plain("good"));
  EXPECT_EQ(client.read().body(), "good");
}

TEST_F(HttpExchangeTest, ABodyThatIsTooLargeIsNotInvited) {
  const auto server = start({.body_bytes = 3});
  HttpClient client(server->address());
  client.send("POST /ask HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n");
  EXPECT_EQ(client.read().result_int(), 413U);
  HttpClient other(server->address());
  other.send("POST /ask HTTP/1.1\r\nHost: x\r\nExpect: a miracle\r\nContent-Length: 1\r\n\r\n1");
  EXPECT_EQ(other.read().result_int(), 417U);
}

TEST_F(HttpExchangeTest, ABodyMayComeInChunks) {
  const auto server = start({.body_bytes = 8});
  HttpClient client(server->address());
  const std::string head = "POST /ask HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n";
  client.send(head + "4\r\nbody\r\n");
  client.send("4;x=y\r\n two\r\n0\r\n\r\n");
  const auto exchange = desk_.at(0);
  EXPECT_EQ(exchange->request().body, "body two");
  exchange->answer(plain(""));
  EXPECT_EQ(client.read().result_int(), 200U);
  client.send(head + "9\r\n123456789\r\n0\r\n\r\n");
  EXPECT_EQ(client.read().result_int(), 413U);
}

TEST_F(HttpExchangeTest, AllLargeBodiesTogetherAreBounded) {
  constexpr size_t kFree = HttpBodyBudget::kFreeBytes;
  const auto server = start({.body_bytes = kFree + 1000, .buffered_bytes = 1500});
  const auto send = [&server](size_t bytes) {
    HttpClient client(server->address());
    client.send_post("/ask", std::string(bytes, 'a'));
    return client;
  };
  HttpClient first = send(kFree + 1000);
  const auto held = desk_.at(0);
  HttpClient second = send(kFree + 501);
  const HttpClient::Response refused = second.read();
  EXPECT_EQ(refused.result_int(), 503U);
  EXPECT_NE(refused.body().find("too many request bodies"), std::string::npos);
  HttpClient third = send(kFree + 500);
  const auto also_held = desk_.at(1);
  HttpClient small = send(kFree);
  desk_.at(2)->answer(plain(""));
  EXPECT_EQ(small.read().result_int(), 200U) << "is served whatever large ones hold";
  held->drop_body();
  HttpClient fourth = send(kFree + 1000);
  desk_.at(3)->answer(plain(""));
  EXPECT_EQ(fourth.read().result_int(), 200U) << "a body that was read makes room";
}

TEST_F(HttpExchangeTest, StopsThoughAnswersAreAwaited) {
  const auto server = start();
  HttpClient client(server->address());
  client.send_post("/ask", "1");
  const auto exchange = desk_.at(0);
  server->stop();
  EXPECT_EQ(desk_.gone, 1);
  EXPECT_EQ(client.read_to_end(), "");
  exchange->answer(plain("too late"));
  exchange->wake();
}

TEST_F(HttpExchangeTest, PagesMayCallOnlyWhenAnOriginIsAllowed) {
  const std::string ask = "OPTIONS /ask HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\n\r\n";
  const auto closed = start();
  HttpClient refused(closed->address());
  refused.send(ask);
  EXPECT_EQ(refused.read().result_int(), 405U);
  EXPECT_EQ(refused.get("/hello").count("Access-Control-Allow-Origin"), 0U);
  const auto open = start({}, "https://a.example");
  HttpClient client(open->address());
  client.send(ask);
  const HttpClient::Response preflight = client.read();
  EXPECT_EQ(preflight.result_int(), 204U);
  EXPECT_EQ(preflight["Access-Control-Allow-Origin"], "https://a.example");
  EXPECT_EQ(preflight["Access-Control-Allow-Methods"], "POST, OPTIONS");
  EXPECT_EQ(client.get("/hello")["Access-Control-Allow-Origin"], "https://a.example");
  EXPECT_EQ(client.get("/nothing")["Access-Control-Allow-Origin"], "https://a.example");
}

TEST_F(HttpExchangeTest, ARouteMayStandForAllPathsBelowIt) {
  const auto server = start();
  HttpClient client(server->address());
  EXPECT_EQ(client.get("/files/a/b%20c").body(), "/files/a/b%20c");
  EXPECT_EQ(client.get("/files/").result_int(), 404U);
  EXPECT_EQ(client.get("/files").result_int(), 404U);
  EXPECT_EQ(client.post("/files/a", "").result_int(), 405U);
}

}  // namespace
}  // namespace sluice::server
