#include "engine/utf8.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace sluice::engine {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

TEST(Utf8, RefusesWhatIsNoCharacter) {
  const std::vector<std::string_view> bad = {
      "\x80"sv,              // a continuation byte alone
      "\xC0\xAF"sv,          // overlong
      "\xC1\xBF"sv,          // overlong
      "\xE0\x9F\xBF"sv,      // overlong
      "\xF0\x8F\xBF\xBF"sv,  // overlong
      "\xED\xA0\x80"sv,      // a surrogate
      "\xED\xBF\xBF"sv,      // a surrogate
      "\xF4\x90\x80\x80"sv,  // above U+10FFFF
      "\xF5\x80\x80\x80"sv,  // no lead byte
      "\xFF"sv,              // no lead byte
      "\xC3"sv,              // cut short
      "\xE4\xB8"sv,          // cut short
      "\xF0\x9F\x91"sv,      // cut short
      "\xC3("sv,             // cut short by another character
  };
  for (const std::string_view text : bad) {
    EXPECT_FALSE(is_valid_utf8(text));
    EXPECT_FALSE(is_valid_utf8("a" + std::string(text) + "b"));
  }
}

TEST(Utf8, AcceptsTheFirstAndLastCharacterOfEachSize) {
  const std::vector<std::string_view> good = {""sv,
                                              "\0"sv,
                                              "\x7F"sv,
                                              "\xC2\x80"sv,
                                              "\xDF\xBF"sv,
                                              "\xE0\xA0\x80"sv,
                                              "\xED\x9F\xBF"sv,
                                              "\xEE\x80\x80"sv,
                                              "\xEF\xBF\xBF"sv,
                                              "\xF0\x90\x80\x80"sv,
                                              "\xF4\x8F\xBF\xBF"sv};
  for (const std::string_view text : good) {
    EXPECT_TRUE(is_valid_utf8(text));
    EXPECT_EQ(sanitize_utf8(text), text);
    EXPECT_EQ(complete_utf8_prefix(text), text.size());
  }
}

TEST(Utf8, ReplacesEachMaximalSubpartOnce) {
  const auto replaced = [](std::string_view text) { return sanitize_utf8(text); };
  const std::string one(kReplacement);
  EXPECT_EQ(replaced("a\x80"
                     "b"),
            "a" + one + "b");
  EXPECT_EQ(replaced("\xE4\xB8"), one);
  EXPECT_EQ(replaced("\xF0\x9F\x91"), one);
  EXPECT_EQ(replaced("\xF0\x9F\x91\xE4"), one + one);
  EXPECT_EQ(replaced("\xED\xA0\x80"), one + one + one);
  EXPECT_EQ(replaced("\xC0\xAF"), one + one);
  // The example of the Unicode standard, table 3-8.
  EXPECT_EQ(replaced("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a" + one + one + one + "b" + one + "c" + one + one + "d");
}

TEST(Utf8, PrefixEndsBeforeACharacterThatMayStillCome) {
  EXPECT_EQ(complete_utf8_prefix("a\xC3"), 1U);
  EXPECT_EQ(complete_utf8_prefix("a\xE4\xB8"), 1U);
  EXPECT_EQ(complete_utf8_prefix("a\xF0\x9F\x91"), 1U);
  EXPECT_EQ(complete_utf8_prefix("\xF0"), 0U);
  EXPECT_EQ(complete_utf8_prefix("\xE4\xB8\xF0\x9F"), 2U);
}

TEST(Utf8, PrefixHoldsNothingBackThatNoByteCanComplete) {
  EXPECT_EQ(complete_utf8_prefix("a\x80"), 2U);
  EXPECT_EQ(complete_utf8_prefix("\xED\xA0"), 2U);
  EXPECT_EQ(complete_utf8_prefix("\xE0\x80"), 2U);
  EXPECT_EQ(complete_utf8_prefix("\xFF"), 1U);
  EXPECT_EQ(complete_utf8_prefix("\xC3("), 2U);
  EXPECT_EQ(complete_utf8_prefix("\xF0\x9F\x91\x8D"), 4U);
  EXPECT_EQ(complete_utf8_prefix("\x80\x80\x80\x80\x80"), 5U);
}

}  // namespace
}  // namespace sluice::engine
