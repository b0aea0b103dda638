#include "server/config_value.h"

#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "server/nearest_name.h"

namespace sluice::server {
namespace {

constexpr int32_t kUntouched = 7;

/// What `text` reads as; kUntouched with a failure.
template <typename T>
std::pair<bool, T> read(const ConfigScalar& value, T initial) {
  const bool ok = read_value("kv.x", value, initial).ok();
  return {ok, initial};
}

TEST(ConfigValue, WholeNumbersAreNeverCutOrWrapped) {
  for (const std::string_view text :
       {"", "2147483648", "-2147483649", "4294967312", "99999999999999999999", "1.0", "1.5", "1e3", "0x10", "16 ",
        " 16", "16k", "+16", "1_000", "true", "~", "nan", "\xff"}) {
    EXPECT_EQ(read({text}, kUntouched), std::make_pair(false, kUntouched)) << text;
  }
  EXPECT_EQ(read({"16", true}, kUntouched), std::make_pair(false, kUntouched)) << "quoted";
  EXPECT_EQ(read({"2147483647"}, kUntouched).second, std::numeric_limits<int32_t>::max());
  EXPECT_EQ(read({"-2147483648"}, kUntouched).second, std::numeric_limits<int32_t>::min());
  EXPECT_EQ(read({"016"}, kUntouched).second, 16) << "decimal, not octal";
}

TEST(ConfigValue, DoublesAreFiniteNumbers) {
  for (const std::string_view text : {"", ".", "nan", "inf", "-inf", ".inf", ".nan", "1e400", "1,5", "1.5ms", "true"})
    EXPECT_FALSE(read({text}, 1.0).first) << text;
  EXPECT_FALSE(read({"1.5", true}, 1.0).first);
  EXPECT_EQ(read({"2"}, 1.0).second, 2.0);
  EXPECT_EQ(read({"-2.5e-3"}, 1.0).second, -0.0025);
}

TEST(ConfigValue, BoolsAreTrueOrFalse) {
  for (const std::string_view text : {"", "yes", "no", "on", "off", "True", "FALSE", "0", "1"})
    EXPECT_FALSE(read({text}, true).first) << text;
  EXPECT_FALSE(read({"false", true}, true).first);
  EXPECT_EQ(read({"false"}, true), std::make_pair(true, false));
  EXPECT_EQ(read({"true"}, false), std::make_pair(true, true));
}

TEST(ConfigValue, StringsAreOneLine) {
  for (const std::string_view text : {"a\nb", "a\tb", "\x1b[31m", "a\x7f"})
    EXPECT_FALSE(read({text}, std::string()).first);
  EXPECT_FALSE(read({std::string_view("a\0b", 3)}, std::string()).first);
  EXPECT_EQ(read({"536870912"}, std::string()).second, "536870912");
  EXPECT_EQ(read({"", true}, std::string("x")).second, "");
  EXPECT_EQ(read({"m\xc3\xbcsli.gguf"}, std::string()).second, "m\xc3\xbcsli.gguf");
}

TEST(ConfigValue, AMessageNamesKeyTypeAndValueOnOneLine) {
  int32_t field = 0;
  EXPECT_EQ(read_value("kv.x", {"a\nb"}, field).message(),
            "kv.x must be a whole number that fits 32 bits, not \"a?b\"");
  EXPECT_EQ(read_value("kv.x", {"16", true}, field).message(),
            "kv.x must be a whole number that fits 32 bits, not \"16\" in quotes");
  EXPECT_LT(read_value("kv.x", {std::string(100000, 'a')}, field).message().size(), 200U);
  EXPECT_EQ(read_value("kv.x", {"a"}, field).field(), "kv.x");
}

TEST(ConfigValue, WritesWhatItReads) {
  double number = 0;
  for (const double value : {0.0, 0.1, 1e300, -2.5, 1.0 / 3}) {
    ASSERT_TRUE(read_value("k", {write_value(value)}, number).ok());
    EXPECT_EQ(number, value);
  }
  EXPECT_EQ(write_value(std::string("a\"b\\c")), R"("a\"b\\c")");
  EXPECT_EQ(write_value(false), "false");
  EXPECT_EQ(write_value(int32_t{-5}), "-5");
}

TEST(NearestName, FindsMisspellingsAndOnlyThose) {
  const std::vector<std::string> names = {"block_size", "memory", "dtype"};
  EXPECT_EQ(nearest_name("block-size", names), "block_size");
  EXPECT_EQ(nearest_name("blocksize", names), "block_size");
  EXPECT_EQ(nearest_name("memoyr", names), "memory");
  EXPECT_EQ(nearest_name("dtyp", names), "dtype");
  EXPECT_EQ(nearest_name("temperature", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name(std::string(1 << 20, 'x'), names), "");
}

}  // namespace
}  // namespace sluice::server
