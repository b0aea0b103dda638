#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/jinja/render.h"

namespace sluice::jinja {
namespace {

TEST(JinjaErrors, NameTheLineAndWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a\nb\n{{ 1 + }}", "line 3: expected an expression, found '}}'"},
      {"\n{% if x %}", "line 2: expected 'endif', found the end of the template"},
      {"{% endfor %}", "line 1: the tag \"endfor\" is unknown or stands where it may not"},
      {"{% include 'x' %}", "line 1: the tag \"include\" is unknown or stands where it may not"},
      {"\n\n{{ 1 | shout }}", "line 3: there is no filter \"shout\""},
      {"{{ 1 is loud }}", "line 1: there is no test \"loud\""},
      {"{{ (1] }}", "line 1: unexpected ']', expected ')'"},
      {"{# a", "line 1: missing end of comment tag"},
      {"{{ 'a", "line 1: a string has no end"},
      {"{{ '\\ud800' }}", "line 1: a string has an escape that names no character"},
      {"{% break %}", "line 1: break and continue need a loop around them"},
      {"\xFF", "the template is not valid UTF-8"},
      {"\n{{ x.y.z }}", "line 2: 'dict object' has no attribute 'y'"},
      {"{{ nope.y }}", "line 1: 'nope' is undefined"},
      {"{{ x +\n 1 }}", "line 2: unsupported operand type(s) for +: 'dict' and 'int'"},
      {"{% macro m() %}\n{{ 1 / 0 }}{% endmacro %}\n\n{{ m() }}", "line 2: division by zero"},
      {"{{ [].append(1) }}", "line 1: access to attribute 'append' of 'list' object is unsafe."},
      {"{{ ''.__class__.x }}", "line 1: access to attribute '__class__' of 'str' object is unsafe."},
      {"{{ 9223372036854775807 + 1 }}", "line 1: an integer is past 64 bits"},
      {"{{ 99999999999999999999 }}", "line 1: a number has a leading zero or is past 64 bits"},
  };
  for (const auto& [source, message] : cases) {
    EXPECT_EQ(failure_of(source, R"({"x": {}})").message(), message) << source;
  }
}

TEST(JinjaErrors, TellWhatTheTemplateRaisesFromWhatGoesWrongInIt) {
  EXPECT_EQ(failure_of("\n{{ raise_exception('roles must alternate') }}"), invalid_argument("roles must alternate"));
  EXPECT_EQ(failure_of("{{ 1 / 0 }}").code(), StatusCode::kFailedPrecondition);
  EXPECT_EQ(failure_of("{{ 'a' * 10 ** 9 }}").code(), StatusCode::kResourceExhausted);
}

TEST(JinjaJson, SaysWhatIsWrongWithIt) {
  EXPECT_EQ(parse_json("{\"a\":", 10).status(), invalid_argument("not JSON, byte 6"));
  EXPECT_EQ(parse_json("[\"\xFF\"]", 10).status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(parse_json("\"\\ud800\"", 10).status().code(), StatusCode::kInvalidArgument);
  EXPECT_TRUE(parse_json("[[[1]]]", 3).ok());
  EXPECT_EQ(parse_json("[[[[1]]]]", 3).status(), invalid_argument("JSON nests deeper than 3 levels"));
  EXPECT_EQ(parse_json(std::string(1'000'000, '['), 64).status().code(), StatusCode::kInvalidArgument);
}

TEST(JinjaJson, KeepsOrderNumbersAndTheLastOfEqualKeys) {
  EXPECT_EQ(text_of("{{ v | tojson }}", R"({"v": {"b": 1, "a": 1.0, "c": [null, true, -5, 1e3], "b": 2}})"),
            R"({"b": 2, "a": 1.0, "c": [null, true, -5, 1000.0]})");
  EXPECT_EQ(text_of("{{ v }}", R"({"v": 9223372036854775807})"), "9223372036854775807");
  EXPECT_EQ(text_of("{{ v }}", R"({"v": 9223372036854775808})"), "9.223372036854776e+18");
}

TEST(JinjaTemplate, RendersOnManyThreadsAtOnce) {
  const Result<Template> compiled = Template::compile(
      "{% set ns = namespace(n=0) %}{% for i in range(100) %}{% set ns.n = ns.n + i %}{% endfor %}{{ ns.n }}");
  ASSERT_TRUE(compiled.ok());
  std::vector<std::thread> threads;
  std::vector<std::string> results(8);
  for (std::string& result : results) {
    threads.emplace_back([&] {
      const Result<Text> text = compiled->render(Dict(), at_seconds(0));
      if (text.ok()) result = text->bytes();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& result : results) EXPECT_EQ(result, "4950");
}

}  // namespace
}  // namespace sluice::jinja
