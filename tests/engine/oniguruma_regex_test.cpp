#include "engine/oniguruma_regex.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/text_pattern.h"

namespace sluice::engine {
namespace {

using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

Texts matches(std::string_view regex, std::string_view text) {
  const Result<std::string> translated = pcre2_of_oniguruma(regex);
  EXPECT_TRUE(translated.ok()) << translated.status();
  const Result<TextPattern> pattern = TextPattern::compile(*translated);
  EXPECT_TRUE(pattern.ok()) << pattern.status() << ": " << *translated;
  Texts found;
  const Status status = pattern->split(text, [&](const TextPattern::Part& part) {
    if (part.is_match) found.emplace_back(part.text);
  });
  EXPECT_TRUE(status.ok()) << status;
  return found;
}

TEST(OnigurumaRegex, RefusesByNameAndPlaceWhatHasNoCounterpart) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"ab\\", "a \\ without a character at byte 2"},
      {"\\Ka", "\\K at byte 0"},
      {"\\k<x>", "\\k at byte 0"},
      {"\\u12", "\\u without four digits"},
      {"\\u12G4", "\\u without four digits"},
      {"(*FAIL)", "(* at byte 0"},
      {"(?<name>a)", "(?< at byte 0"},
      {"(?~a)", "(?~ at byte 0"},
      {"a{1,3}+", "a quantifier of a quantifier at byte 1"},
      {"a{2}?", "a quantifier of a quantifier at byte 1"},
      {"[a-z&&b]", "&& at byte 4"},
      {"[a[^b]]", "[^ in a class"},
      {"[\\W]", "\\W in a class"},
      {"[a", "a class without an end"},
      {std::string(40, '['), "a class too deep"},
  };
  for (const auto& [regex, reason] : cases) {
    const Result<std::string> translated = pcre2_of_oniguruma(regex);
    ASSERT_FALSE(translated.ok()) << regex;
    EXPECT_THAT(translated.status().message(), HasSubstr("the regular expression has " + reason)) << regex;
  }
}

TEST(OnigurumaRegex, MeansUnicodesWhiteSpaceDigitsAndWords) {
  EXPECT_EQ(matches("\\s+", "a\u00A0 \u180E\u3000"), (Texts{"\u00A0 ", "\u3000"}));
  EXPECT_EQ(matches("[^\\s]+", "a \u180E"), (Texts{"a", "\u180E"}));
  EXPECT_EQ(matches("\\d", "1\u0663\u00BD"), (Texts{"1", "\u0663"}));
  EXPECT_EQ(matches("\\w+", "e\u0301_1-b"), (Texts{"e\u0301_1", "b"}));
  EXPECT_EQ(matches("[\\w-]+", "a-b c"), (Texts{"a-b", "c"}));
  EXPECT_EQ(matches("\\bb", "ab b"), (Texts{"b"}));
  EXPECT_EQ(matches("\\h+", "xfFg9"), (Texts{"fF", "9"}));
  EXPECT_EQ(matches("\\v", "\x0B\n"), (Texts{"\x0B"}));
  EXPECT_EQ(matches("\\u0041|\\x42", "ABC"), (Texts{"A", "B"}));
}

TEST(OnigurumaRegex, EndsLinesAtEachOfThem) {
  EXPECT_EQ(matches("^.", "ab\ncd\n"), (Texts{"a", "c"}));
  EXPECT_EQ(matches(".$", "ab\ncd\n"), (Texts{"b", "d"}));
  EXPECT_EQ(matches("a.b", "a\nb"), (Texts{}));
  EXPECT_EQ(matches("(?m:a.b)", "a\nb"), (Texts{"a\nb"}));
  EXPECT_EQ(matches("(?mi)A.b", "a\nb"), (Texts{"a\nb"}));
}

TEST(OnigurumaRegex, TakesAClassWithinAClassAsPartOfIt) {
  EXPECT_EQ(matches("[a[bc]d]+", "xabcdx[]"), (Texts{"abcd"}));
  EXPECT_EQ(matches("[^(\\s|[.,])]+", "ab.c|d e"), (Texts{"ab", "c", "d", "e"}));
  EXPECT_EQ(matches("[]a]+", "x]ax"), (Texts{"]a"}));
  EXPECT_EQ(matches("[[:digit:]a]+", "xa1x"), (Texts{"a1"}));
}

TEST(OnigurumaRegex, ReadsBracesAsQuantifiersOnlyWhereTheyAre) {
  EXPECT_EQ(matches("a{,2}b", "aaab"), (Texts{"aab"}));
  EXPECT_EQ(matches("a{2}", "aaa"), (Texts{"aa"}));
  EXPECT_EQ(matches("a{1,3}?", "aa"), (Texts{"a", "a"}));
  EXPECT_EQ(matches("a{x", "a{x"), (Texts{"a{x"}));
}

TEST(TextPattern, GivesEmptyMatchesOnceAndGoesOn) {
  EXPECT_EQ(matches("(?=[A-Z])", "aBcD"), (Texts{"", ""}));
  EXPECT_EQ(matches("x*", "axb"), (Texts{"", "x", ""}));
  EXPECT_EQ(matches("$", "é"), (Texts{""}));
}

TEST(TextPattern, SaysWhyARegexCantBeCompiled) {
  const Result<TextPattern> pattern = TextPattern::compile("(a");
  ASSERT_FALSE(pattern.ok());
  EXPECT_EQ(pattern.status().message(),
            "the regular expression can't be compiled: missing closing parenthesis at byte 2");
}

TEST(TextPattern, TakesNoCharacterOfALiteralForMoreThanItself) {
  const Result<TextPattern> pattern = TextPattern::literal("a.[");
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  size_t found = 0;
  ASSERT_TRUE(pattern->split("abca.[", [&](const TextPattern::Part& part) { found += part.is_match ? 1 : 0; }).ok());
  EXPECT_EQ(found, 1U);
}

}  // namespace
}  // namespace sluice::engine
