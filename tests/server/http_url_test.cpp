#include "server/http_url.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

TEST(HttpUrl, HasHostPortAndPath) {
  const auto url = parse_http_url("k", "http://collector.example:4318/v1/traces?x=1");
  ASSERT_TRUE(url.ok()) << url.status();
  EXPECT_EQ(url->host, "collector.example");
  EXPECT_EQ(url->port, "4318");
  EXPECT_EQ(url->path, "/v1/traces?x=1");
  EXPECT_EQ(url->authority(), "collector.example:4318");
}

TEST(HttpUrl, LeavesOutWhatHasADefault) {
  EXPECT_EQ(parse_http_url("k", "http://a")->port, "80");
  EXPECT_EQ(parse_http_url("k", "http://a")->path, "/");
  EXPECT_EQ(parse_http_url("k", "http://a?b")->path, "/?b");
  const auto six = parse_http_url("k", "http://[::1]:4318/");
  ASSERT_TRUE(six.ok()) << six.status();
  EXPECT_EQ(six->host, "::1");
  EXPECT_EQ(six->authority(), "[::1]:4318");
}

TEST(HttpUrl, NamesTheFieldOfWhatIsNone) {
  for (const char* const text : {"", "a", "ftp://a", "https://a", "http://", "http://:80", "http://a:0",
                                 "http://a:65536", "http://a:x", "http://a b", "http://[::1", "http://[::1]x",
                                 "http://u@a/", "http://a#b", "http://a/b#c", "http://a/\x01", "http://a/\xff"}) {
    const auto url = parse_http_url("tracing.otlp_url", text);
    ASSERT_FALSE(url.ok()) << text;
    EXPECT_EQ(url.status().field(), "tracing.otlp_url") << text;
  }
}

}  // namespace
}  // namespace sluice::server
