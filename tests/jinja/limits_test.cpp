#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jinja/render.h"

namespace sluice::jinja {
namespace {

using ::testing::HasSubstr;

std::string repeated(std::string_view text, size_t times) {
  std::string out;
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

void expect_refused(std::string_view source, const Limits& limits, std::string_view words) {
  const Status status = failure_of(source, "{}", limits);
  EXPECT_EQ(status.code(), StatusCode::kResourceExhausted) << source.substr(0, 80) << ": " << status;
  EXPECT_THAT(status.message(), HasSubstr(std::string(words)));
}

void expect_fine(std::string_view source, const Limits& limits) {
  const Status status = failure_of(source, "{}", limits);
  EXPECT_TRUE(status.ok()) << source.substr(0, 80) << ": " << status;
}

TEST(JinjaLimits, TemplateBytes) {
  Limits limits;
  limits.template_bytes_max = 8;
  expect_fine("12345678", limits);
  expect_refused("123456789", limits, "longer than 8 bytes");
}

TEST(JinjaLimits, NestingInTheSource) {
  Limits limits;
  limits.nesting_max = 10;
  // The text and the expression are a level each.
  expect_fine("{{ " + repeated("(", 8) + "1" + repeated(")", 8) + " }}", limits);
  expect_refused("{{ " + repeated("(", 9) + "1" + repeated(")", 9) + " }}", limits, "line 1: nested deeper");
}

TEST(JinjaLimits, NestingOfAnyKindIsRefusedBeforeTheStackEnds) {
  const size_t times = 20'000;
  for (const std::string& source :
       {"{{ " + repeated("(", times) + repeated(")", times) + " }}",
        "{{ " + repeated("[", times) + repeated("]", times) + " }}",
        "{{ " + repeated("{1:", times) + repeated("}", times) + " }}", "{{ " + repeated("not ", times) + "1 }}",
        "{{ " + repeated("-", times) + "1 }}", "{{ " + repeated("a(", times) + repeated(")", times) + " }}",
        "{{ " + repeated("a[", times) + repeated("]", times) + " }}", "{{ 1" + repeated(" if 1 else 1", times) + " }}",
        repeated("{% if 1 %}", times), repeated("{% for a in b %}", times), repeated("{% set a %}", times),
        "{% for " + repeated("(", times) + repeated(")", times) + " %}",
        "{{ 1 " + repeated("| default(1 ", times) + repeated(")", times) + " }}", repeated("{% macro m() %}", times),
        repeated("{% filter upper %}", times)}) {
    expect_refused(source, Limits(), "nested deeper than 200 levels");
  }
}

TEST(JinjaLimits, DepthOfEvaluation) {
  Limits limits;
  limits.depth_max = 50;
  expect_fine("{{ 1" + repeated(" + 1", 45) + " }}", limits);
  expect_refused("{{ 1" + repeated(" + 1", 55) + " }}", limits, "more than 50 levels deep");
  expect_refused("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", Limits(), "levels deep");
  expect_refused("{{ 1" + repeated(" + 1", 100'000) + " }}", Limits(), "levels deep");
  expect_refused("{{ a" + repeated(".b", 100'000) + " }}", Limits(), "levels deep");
  expect_refused("{{ 'a'" + repeated("|upper", 100'000) + " }}", Limits(), "levels deep");
  expect_refused("{% for n in [1] recursive %}{{ loop([1]) }}{% endfor %}", Limits(), "levels deep");
}

TEST(JinjaLimits, Steps) {
  Limits limits;
  limits.steps_max = 1000;
  expect_fine("{% for i in range(100) %}{{ i }}{% endfor %}", limits);
  expect_refused("{% for i in range(1000) %}{{ i }}{% endfor %}", limits, "more than 1000 steps");
  limits.steps_max = 100'000;
  // Loops without a body, and work that one step does on much, count too.
  expect_refused("{% for i in range(90000) %}{% for j in range(90000) %}{% endfor %}{% endfor %}", limits, "steps");
  const std::string large = "{% set x = 'ab' * 1000000 %}";
  expect_refused(large + "{% for i in range(1000) %}{% if x in 'c' ~ x %}{% endif %}{% endfor %}", Limits(),
                 "more than");
  expect_refused(large + "{% for i in range(10000) %}{{ x | length }}{% endfor %}", limits, "steps");
  expect_refused("{% set x = [1] * 100000 %}{% for i in range(10000) %}{{ x == x + [] }}{% endfor %}", Limits(),
                 "more than");
}

TEST(JinjaLimits, StepsCountWhatASearchMayCost) {
  Limits limits;
  limits.steps_max = 100'000;
  // At each place nearly all of the wanted text matches.
  const std::string large = "{% set x = 'a' * 2000000 %}{% set y = 'a' * 200000 ~ 'b' %}";
  for (const std::string use : {"y in x", "x.find(y)", "x.count(y)", "x.split(y)", "x.replace(y, '')",
                                "x | replace(y, '')", "x.partition(y)", "x.strip(y)", "x | trim(y)"}) {
    expect_refused(large + "{{ " + use + " }}", limits, "steps");
  }
  const std::string keyed = "{% set k = 'a' * 1000000 %}{% set d = {k: 1} %}{% for i in range(90000) %}";
  for (const std::string use : {"d[k]", "d.get(k)", "k in d", "{k: 1}", "dict([(k, 1)])", "[k, k ~ 'b'] | sort"}) {
    expect_refused(keyed + "{% set x = " + use + " %}{% endfor %}", limits, "more than");
  }
}

TEST(JinjaLimits, SizeOfAValue) {
  Limits limits;
  limits.value_bytes_max = 1000;
  expect_fine("{{ ('a' * 1000) | length }}", limits);
  for (const std::string source : {"'a' * 1001",
                                   "[1] * 1000",
                                   "'a' * 10 ** 9",
                                   "[[1] * 10 ** 9]",
                                   "('a' * 900) + ('a' * 900)",
                                   "('a' * 900) ~ 'a' * 900",
                                   "'a'.ljust(10 ** 9)",
                                   "'a'.center(10 ** 9)",
                                   "'a'.zfill(10 ** 9)",
                                   "'a' | center(10 ** 9)",
                                   "'a' | indent(10 ** 9, true)",
                                   "[1] | tojson(indent=10 ** 9)",
                                   "'%1000000000s' % 'a'",
                                   "'%01000000000d' % 1",
                                   "'%*d' % (10 ** 9, 1)",
                                   "'{:>1000000000}'.format(1)",
                                   "'{:01000000000}'.format(1)",
                                   "('a' * 900).replace('', 'bbb')",
                                   "('a' * 900) | replace('a', 'bb')",
                                   "('ab' * 400).join('abc' | list)",
                                   "['a' * 400, 'b' * 400] | join('c' * 400)",
                                   "[1] | batch(10 ** 9, 1) | list",
                                   "[1] | slice(10 ** 9) | list",
                                   "('a,' * 400).split(',')",
                                   "('a' * 900) | list",
                                   "[['a' * 600], ['b' * 600]] | string",
                                   "[['a' * 600], ['b' * 600]] | tojson",
                                   "('<' * 900) | escape",
                                   "strftime_now('%Y' * 400)"}) {
    expect_refused("{{ " + source + " }}", limits, "a value of more than 1000 bytes");
  }
}

TEST(JinjaLimits, SizeOfAllValues) {
  Limits limits;
  limits.built_bytes_max = 12'000;
  expect_fine("{% for i in range(9) %}{% set x = 'a' * 1000 %}{% endfor %}", limits);
  expect_refused("{% for i in range(15) %}{% set x = 'a' * 1000 %}{% endfor %}", limits,
                 "builds more than 12000 bytes");
}

TEST(JinjaLimits, Range) {
  Limits limits;
  limits.range_max = 10;
  expect_fine("{{ range(10) | length }}", limits);
  expect_refused("{{ range(11) | length }}", limits, "Range too big");
  expect_refused("{{ range(10 ** 18) | length }}", Limits(), "Range too big");
  expect_fine("{{ range(9223372036854775806, 9223372036854775807, 5) | length }}", Limits());
}

TEST(JinjaLimits, Output) {
  Limits limits;
  limits.output_bytes_max = 10;
  expect_fine("{{ 'a' * 10 }}", limits);
  expect_fine("1234567890", limits);
  expect_refused("{{ 'a' * 10 }}b", limits, "gives more than 10 bytes");
  expect_refused("12345678901", limits, "gives more than 10 bytes");
}

TEST(JinjaLimits, DepthOfValues) {
  Limits limits;
  limits.value_depth_max = 5;
  expect_fine("{{ [[[[[1]]]]] }}", limits);
  expect_refused("{{ [[[[[[1]]]]]] }}", limits, "more than 5 levels within each other");
  for (const std::string build : {"[ns.x]", "(ns.x,)", "{'a': ns.x}", "dict(a=ns.x)", "cycler(ns.x)", "[ns.x] | list",
                                  "[ns.x] | map('list') | list", "[ns.x].index", "dict(a=ns.x).items()",
                                  "[ns.x] | batch(1) | list", "[ns.x] + []", "[ns.x] * 2", "[ns.x][:]"}) {
    expect_refused(
        "{% set ns = namespace(x=[1]) %}{% for i in range(100000) %}{% set ns.x = " + build + " %}{% endfor %}",
        Limits(), "levels within each other");
  }
  expect_refused(
      "{% set ns = namespace(x=[1]) %}{% for i in range(90000) %}{% for y in [ns.x] %}{% set ns.x = loop %}{% endfor %}"
      "{% endfor %}",
      Limits(), "levels within each other");
}

TEST(JinjaLimits, ValuesThatShareTheirPartsArePrintedWithinThem) {
  const std::string tree =
      "{% set ns = namespace(x=[1]) %}{% for i in range(60) %}{% set ns.x = [ns.x, ns.x] %}{% endfor %}";
  const std::string tree_again =
      "{% set other = namespace(x=[1]) %}{% for i in range(60) %}{% set other.x = [other.x, other.x] %}{% endfor %}";
  for (const std::string use : {"ns.x | string", "ns.x | tojson", "ns.x == other.x"}) {
    EXPECT_EQ(failure_of(tree + tree_again + "{{ " + use + " }}").code(), StatusCode::kResourceExhausted) << use;
  }
}

TEST(JinjaLimits, ANamespaceMayHoldItself) {
  EXPECT_EQ(failure_of("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns }}").code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% set ns.x = ns %}{{ ns.x.x.x is defined }}"), "True");
}

TEST(JinjaLimits, WhatOutlivesItsBlockStaysUsable) {
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% for i in [7] %}{% macro m() %}{{ i }}{% endmacro %}{% set ns.m = m %}"
                    "{% endfor %}{{ ns.m() }}"),
            "7");
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% for i in [7, 8] %}{% set ns.l = loop %}{% endfor %}{{ ns.l.index }}"
                    "{{ ns.l.previtem }}"),
            "27");
  EXPECT_EQ(
      text_of("{% set ns = namespace() %}{% for i in [1] %}{% for j in [2] recursive %}{{ i }}{{ j }}{% set ns.l = "
              "loop %}{% endfor %}{% endfor %}{{ ns.l([3]) }}"),
      "1213");
  EXPECT_EQ(text_of("{% set ns = namespace() %}{% for i in [1] %}{{ loop.changed(loop) }}{% set ns.c = loop.changed %}"
                    "{% endfor %}{{ ns.c(1) }}"),
            "TrueTrue");
}

}  // namespace
}  // namespace sluice::jinja
