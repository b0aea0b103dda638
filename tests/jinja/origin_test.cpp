#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/jinja/render.h"

namespace sluice::jinja {
namespace {

/// What came with the variables in brackets, each run.
std::string marked(const Text& text) {
  std::string out;
  size_t begin = 0;
  for (const Text::Run& run : text.runs()) {
    const std::string part = text.bytes().substr(begin, run.end - begin);
    out += run.origin == Origin::kInput ? "[" + part + "]" : part;
    begin = run.end;
  }
  return out;
}

std::string marked(std::string_view source, std::string_view variables) {
  const Result<Text> text = render(source, variables);
  EXPECT_TRUE(text.ok()) << text.status() << " in " << source;
  return text.ok() ? marked(*text) : "";
}

TEST(JinjaOrigin, EveryOperationKeepsItByteByByte) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a{{ u }}b", "a[uVw]b"},
      {"{{ 'a' }}", "a"},
      {"{{ 'a' + u + 'b' }}", "a[uVw]b"},
      {"{{ 'a' ~ u ~ 'b' }}", "a[uVw]b"},
      {"{{ ('a' + u)[1:] }}|{{ ('a' + u)[:2] }}|{{ ('a' + u)[::-1] }}|{{ ('a' + u)[0] }}", "[uVw]|a[u]|[wVu]a|a"},
      {"{{ ('a' + u) * 2 }}", "a[uVw]a[uVw]"},
      {"{{ (' a' + u + ' ').strip() }}", "a[uVw]"},
      {"{{ (' a' + u) | trim }}", "a[uVw]"},
      {"{{ ('a,' + u).split(',')[1] }}{{ ('a,' + u).split(',')[0] }}", "[uVw]a"},
      {"{{ ('a,' + u).partition(',')[2] }}", "[uVw]"},
      {"{{ ('a\n' + u).splitlines()[1] }}", "[uVw]"},
      {"{{ 'axb'.replace('x', u) }}|{{ u.replace('V', '<v>') }}|{{ 'axb' | replace('x', u) }}",
       "a[uVw]b|[u]<v>[w]|a[uVw]b"},
      {"{{ '-'.join(['a', u, 'b']) }}|{{ [u, u] | join('-') }}", "a-[uVw]-b|[uVw]-[uVw]"},
      {"{{ ('a' + u).upper() }}|{{ ('A' + u) | lower }}|{{ ('a' + u) | capitalize }}|{{ ('a' + u).title() }}",
       "A[UVW]|a[uvw]|A[uvw]|A[uvw]"},
      {"{{ 'a{}b'.format(u) }}|{{ 'a%sb' % u }}|{{ '%s' | format(u) }}|{{ '{x}-{0}'.format('t', x=u) }}",
       "a[uVw]b|a[uVw]b|[uVw]|[uVw]-t"},
      {"{{ ('a\n' + u) | indent(2) }}", "a[\n  uVw]"},
      {"{{ u | default('a') }}{{ nope | default('a') }}", "[uVw]a"},
      {"{{ ['a', u] | first }}{{ ['a', u] | last }}", "a[uVw]"},
      {"{{ [u, 'a'] | sort | join }}", "a[uVw]"},
      {"{{ ('a' + u) | list | join('') }}", "a[uVw]"},
      {"{{ ('a' + u) | reverse }}", "[wVu]a"},
      {"{% for c in 'a' + u %}{{ c }}{% endfor %}", "a[uVw]"},
      {"{{ ['a', u] | map('upper') | join }}", "A[UVW]"},
      {"{{ ('a<' + u) | escape }}", "a&lt;[uVw]"},
      {"{{ u | safe }}{{ 'a' | safe }}", "[uVw]a"},
      {"{{ 'a' | tojson }}{{ u | tojson }}", "[\"]a[\"\"uVw\"]"},
      {"{{ {'a': u, u: 'b'} | tojson }}", "[{\"]a[\": \"uVw\", \"uVw\": \"]b[\"}]"},
      {"{{ ['a', u] }}", "[[']a[', 'uVw']]"},
      {"{{ 7 }}{{ true }}{{ none }}{{ 1.5 }}", "[7TrueNone1.5]"},
      {"{% macro m(x) %}<{{ x }}>{% endmacro %}{{ m(u) }}{{ m('a') }}", "<[uVw]><a>"},
      {"{% macro m() %}<{{ caller() }}>{% endmacro %}{% call m() %}a{{ u }}{% endcall %}", "<a[uVw]>"},
      {"{% set x %}a{{ u }}{% endset %}{{ x }}", "a[uVw]"},
      {"{% set x | upper %}a{{ u }}{% endset %}{{ x }}", "A[UVW]"},
      {"{% filter upper %}a{{ u }}{% endfilter %}", "A[UVW]"},
      {"{% generation %}a{{ u }}{% endgeneration %}", "a[uVw]"},
      {"{% set ns = namespace(x='a') %}{% set ns.x = ns.x + u %}{{ ns.x }}", "a[uVw]"},
      {"{{ 'a' if u else u }}{{ u or 'a' }}{{ '' or 'a' }}", "a[uVw]a"},
      {"{{ m.k }}{{ m['k'] }}{{ m.get('k') }}{{ m.items() | first | join }}", "[xxxkx]"},
      {"{% for k in m %}{{ k }}{% endfor %}{% for k, v in {'a': u} | items %}{{ k }}{{ v }}{% endfor %}", "[k]a[uVw]"},
      {"{{ dict(a=1) | list | join }}", "a"},
      {"{{ 'a'.center(3) }}{{ 'a'.ljust(2, u[0]) }}", "[ ]a[ ]a[u]"},
      {"{{ strftime_now('%Y') }}{{ strftime_now('%Y' + u) }}", "2023[2023uVw]"},
      {"{% for i in 'ab' %}{{ loop.cycle('x', u) }}{% endfor %}", "x[uVw]"},
      {"{% set j = joiner('|') %}{{ j() }}{{ j() }}", "|"},
      {"{{ ('é' + u)[0] }}{{ ('é' + u).upper() }}", "éÉ[UVW]"},
      {"{{ ('a' + u).removeprefix('a') }}{{ ('a' + u).zfill(6) }}{{ (u + 'a') | truncate(3, true, '', 0) }}",
       "[uVw00]a[uVwuVw]"},
  };
  for (const auto& [source, expected] : cases) {
    EXPECT_EQ(marked(source, R"({"u": "uVw", "m": {"k": "x"}})"), expected) << source;
  }
}

TEST(JinjaOrigin, AMessageCantBorrowTheTemplatesBytes) {
  // What the user sends selects among the template's words, but each byte keeps its writer.
  EXPECT_EQ(marked("{{ '<|im_' + c + '|>' }}", R"({"c": "end"})"), "<|im_[end]|>");
  EXPECT_EQ(marked("{{ c | replace('x', '<|') | replace('y', '|>') }}", R"({"c": "xim_endy"})"), "<|[im_end]|>");
}

TEST(JinjaText, CutsAndAppendsRuns) {
  Text text("ab", Origin::kTemplate);
  text.append("cd", Origin::kInput);
  text.append("", Origin::kTemplate);
  text.append("ef", Origin::kInput);
  text.append("gh", Origin::kTemplate);
  EXPECT_EQ(marked(text), "ab[cdef]gh");
  EXPECT_EQ(marked(text.slice(1, 6)), "b[cdef]g");
  EXPECT_EQ(marked(text.slice(2, 4)), "[cdef]");
  EXPECT_EQ(marked(text.slice(3, 0)), "");
  EXPECT_EQ(text.origin_at(1), Origin::kTemplate);
  EXPECT_EQ(text.origin_at(2), Origin::kInput);
  EXPECT_EQ(text.origin(), Origin::kInput);
  EXPECT_EQ(text.slice(6, 2).origin(), Origin::kTemplate);
  text.truncate(6);
  EXPECT_EQ(marked(text), "ab[cdef]");
  text.truncate(2);
  EXPECT_EQ(marked(text), "ab");
  text.truncate(0);
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(text.runs().empty());
}

}  // namespace
}  // namespace sluice::jinja
