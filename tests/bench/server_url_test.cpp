#include "bench/server_url.h"

#include <gtest/gtest.h>

namespace sluice::bench {
namespace {

using Scheme = ServerUrl::Scheme;

TEST(ServerUrl, WrongTextIsRefused) {
  for (const char* const bad : {"", "http://", "http://:80", "http://h:0", "http://h:65536", "http://h:", "http://h:x",
                                "http://[::1", "http://h /v1", "http://u@h", "http://h?x", "ftp://h", "grpc://"})
    EXPECT_FALSE(parse_server_url(bad).ok()) << bad;
}

TEST(ServerUrl, WithoutASchemeItIsGrpc) {
  EXPECT_EQ(parse_server_url("127.0.0.1:50051")->scheme, Scheme::kGrpc);
  EXPECT_EQ(parse_server_url("grpc://h:1")->address, "h:1");
  EXPECT_EQ(parse_server_url("unix:/tmp/s")->address, "unix:/tmp/s");
}

TEST(ServerUrl, HttpHasABase) {
  EXPECT_EQ(parse_server_url("http://h:1")->base, "/v1");
  EXPECT_EQ(parse_server_url("http://h:1/")->base, "/v1");
  EXPECT_EQ(parse_server_url("http://h:1/v1/")->base, "/v1");
  EXPECT_EQ(parse_server_url("http://h:1/api/v3")->base, "/api/v3");
}

TEST(ServerUrl, HttpHasAPort) {
  EXPECT_EQ(parse_server_url("http://h")->authority(), "h:80");
  EXPECT_EQ(parse_server_url("https://h/v1")->authority(), "h:443");
  EXPECT_EQ(parse_server_url("https://h/v1")->scheme, Scheme::kHttps);
  EXPECT_EQ(parse_server_url("http://[::1]:65535")->host, "::1");
  EXPECT_EQ(parse_server_url("http://[::1]:65535")->authority(), "[::1]:65535");
}

}  // namespace
}  // namespace sluice::bench
