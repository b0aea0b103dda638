#include "server/listen_address.h"

#include <gtest/gtest.h>

namespace sluice::server {
namespace {

Status error_of(std::string_view text) {
  return parse_listen_address(text, "server.http_listen").status();
}

TEST(ListenAddress, RefusesWhatIsNoHostAndPort) {
  for (const std::string_view text :
       {"",         "localhost", "8080",     ":8080",     ":",         "host:",          "host:x",
        "host:-1",  "host:+1",   "host: 80", "host:80 ",  "host:0x50", "[]:80",          "[::1]",
        "[::1]80",  "[::1:80",   "::1:80",   "[host]:80", "a b:80",    "http://host:80", "host:80/metrics",
        "ho\nst:80"}) {
    const Status status = error_of(text);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(status.field(), "server.http_listen") << text;
    EXPECT_EQ(status.message().find('\n'), std::string::npos) << text;
  }
}

TEST(ListenAddress, TakesPortsUpTo65535) {
  EXPECT_EQ(parse_listen_address("h:65535", "k").value().port, 65535);
  EXPECT_EQ(parse_listen_address("h:0", "k").value().port, 0);
  EXPECT_FALSE(error_of("h:65536").ok());
  EXPECT_FALSE(error_of("h:99999999999999999999").ok());
}

TEST(ListenAddress, SaysHowToWriteAnIpv6Address) {
  EXPECT_NE(error_of("::1:80").message().find("[::1]:8080"), std::string::npos);
}

TEST(ListenAddress, ReadsNamesAndAddresses) {
  EXPECT_EQ(parse_listen_address("localhost:80", "k").value(), (ListenAddress{"localhost", 80}));
  EXPECT_EQ(parse_listen_address("0.0.0.0:80", "k").value(), (ListenAddress{"0.0.0.0", 80}));
  EXPECT_EQ(parse_listen_address("[::1]:80", "k").value(), (ListenAddress{"::1", 80}));
  EXPECT_EQ(parse_listen_address("[fe80::1%eth0]:80", "k").value(), (ListenAddress{"fe80::1%eth0", 80}));
}

TEST(ListenAddress, WritesWhatItReads) {
  for (const std::string_view text : {"127.0.0.1:8080", "[::1]:0", "node-1.example_net:65535"}) {
    EXPECT_EQ(parse_listen_address(text, "k").value().text(), text);
  }
}

TEST(ListenAddress, KnowsLoopback) {
  for (const std::string_view text : {"127.0.0.1:1", "127.9.8.7:1", "localhost:1", "[::1]:1"}) {
    EXPECT_TRUE(parse_listen_address(text, "k")->is_loopback()) << text;
  }
  for (const std::string_view text :
       {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.example.org:1", "127.0.0.1.example.org:1", "host:1"}) {
    EXPECT_FALSE(parse_listen_address(text, "k")->is_loopback()) << text;
  }
}

}  // namespace
}  // namespace sluice::server
