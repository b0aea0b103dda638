// Templates that nobody would write: mutations of good ones and soups of tokens. Nothing may crash, hang or go past its
// limits; what renders keeps its origins. SLUICE_JINJA_FUZZ_SEEDS says how many of them; a failure prints its seed.

#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/counter_random.h"
#include "tests/jinja/render.h"

namespace sluice::jinja {
namespace {

constexpr std::string_view kVariables =
    R"({"messages": [{"role": "system", "content": "Be brief"}, {"role": "user", "content": "A<|im_end|>B é👍 { } %s"},
        {"role": "assistant", "content": [{"type": "text", "text": "x"}], "tool_calls": [{"function": {"name": "f",
        "arguments": {"a": 1, "b": [1.5, null, true]}}}]}], "tools": [{"type": "function", "function": {"name": "f"}}],
        "add_generation_prompt": true, "bos_token": "<s>", "n": 7, "s": "text", "d": {"k": [1, 2]}})";

constexpr std::array<std::string_view, 8> kGood = {
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\n' + m['content'] | string + '<|im_end|>' }}{% endfor %}",
    "{%- macro show(v, d=0) -%}{%- if v is mapping -%}{%- for k, w in v | dictsort -%}{{ k }}:{{ show(w, d + 1) }},{%- "
    "endfor -%}{%- elif v is iterable and v is not string -%}[{%- for w in v -%}{{ show(w, d + 1) }}{%- endfor -%}]{%- "
    "else -%}{{ v | tojson }}{%- endif -%}{%- endmacro -%}{{ show(messages) }}",
    "{% set ns = namespace(x='', n=0) %}{% for m in messages if m.role != 'system' %}{% set ns.n = ns.n + 1 %}{% set "
    "ns.x "
    "= ns.x ~ loop.index ~ m.role[:2] ~ (m.content | string)[::-1] %}{% if loop.last %}{% break %}{% endif %}{% else "
    "%}none{% endfor %}{{ ns.x | upper | replace('A', '<a>') | indent(2) }}",
    "{% filter trim | upper %} {{ messages | map(attribute='role') | join(', ') }} {% endfilter %}{{ tools | "
    "tojson(indent=2) "
    "}}{{ '{:>8}|%s'.format(s) % n }}{{ messages | selectattr('role', 'in', ['user']) | list | length }}",
    "{% set t %}a{% generation %}{{ n // 2 ** 3 % 5 - 1.5 }}{% endgeneration %}{% endset %}{{ t.split('a')[-1:] }}{% "
    "with "
    "a = 1, b = [n, s] %}{{ a in b and not b is none or a < 2 < 3 }}{% endwith %}",
    "{% macro w() %}<{{ caller(1, 2) }}{{ varargs }}{{ kwargs }}>{% endmacro %}{% call(a, b) w() %}{{ a }}{{ b }}{% "
    "endcall "
    "%}{% for x in [[1, [2]], [3, []]] recursive %}{{ x[0] }}{{ loop(x[1:]) if x[1:] }}{% endfor %}",
    "{# c #}{%- raw -%} {{ x }} {%- endraw +%}\n  {%+ if true %} a {% endif -%}  b\r\n{{ -n | abs }}{{ 'a' 'b' "
    "\"c\\n\" }}",
    "{% set a, (b, c) = 1, (2, 3) %}{{ [a, b, c] | sort(reverse=true) | batch(2, 0) | list }}{{ {'x': 1} if false else "
    "d.get('k', [])[-1] }}{{ cycler('a', 'b').next() }}{{ range(3) | sum }}{{ strftime_now('%Y') }}"};

constexpr std::array<std::string_view, 96> kSoup = {"{{",
                                                    "}}",
                                                    "{%",
                                                    "%}",
                                                    "{%-",
                                                    "-%}",
                                                    "{{-",
                                                    "-}}",
                                                    "{#",
                                                    "#}",
                                                    " ",
                                                    "\n",
                                                    "if ",
                                                    "else ",
                                                    "elif ",
                                                    "endif ",
                                                    "for ",
                                                    "in ",
                                                    "endfor ",
                                                    "set ",
                                                    "endset ",
                                                    "macro m(a)",
                                                    "endmacro ",
                                                    "call m(1)",
                                                    "endcall ",
                                                    "filter upper ",
                                                    "endfilter ",
                                                    "with a=1 ",
                                                    "endwith ",
                                                    "break ",
                                                    "continue ",
                                                    "generation ",
                                                    "endgeneration ",
                                                    "raw ",
                                                    "endraw ",
                                                    "recursive ",
                                                    "messages",
                                                    "tools",
                                                    "m",
                                                    "n",
                                                    "s",
                                                    "d",
                                                    "a",
                                                    "loop",
                                                    "namespace(x=1)",
                                                    "ns.x",
                                                    "range(",
                                                    "(",
                                                    ")",
                                                    "[",
                                                    "]",
                                                    "{",
                                                    "}",
                                                    ",",
                                                    ":",
                                                    ".",
                                                    "|",
                                                    "=",
                                                    "==",
                                                    "<",
                                                    "+",
                                                    "-",
                                                    "*",
                                                    "**",
                                                    "/",
                                                    "//",
                                                    "%",
                                                    "~",
                                                    " not ",
                                                    " and ",
                                                    " or ",
                                                    " is ",
                                                    "defined",
                                                    "none",
                                                    "true",
                                                    "1",
                                                    "2",
                                                    "100",
                                                    "1.5",
                                                    "'x'",
                                                    "'%s{}'",
                                                    "\"é\"",
                                                    "''",
                                                    "|length",
                                                    "|list",
                                                    "|tojson",
                                                    "|join(',')",
                                                    "|map('upper')",
                                                    "|sort",
                                                    "|default(1)",
                                                    ".split('')",
                                                    ".items()",
                                                    "[::-1]",
                                                    "[0]",
                                                    ".format(1)",
                                                    "raise_exception('r')"};

class Random {
 public:
  explicit Random(uint64_t seed) : seed_(seed) {}
  size_t below(size_t bound) { return random_bits(seed_, position_++) % bound; }

 private:
  const uint64_t seed_;
  uint64_t position_ = 0;
};

std::string soup(Random& random) {
  std::string source = "{{ ";
  for (size_t i = 0; i < 3 + random.below(40); ++i) source += kSoup[random.below(kSoup.size())];
  return source + (random.below(2) == 0 ? " }}" : " %}");
}

std::string mutated(Random& random) {
  std::string source(kGood[random.below(kGood.size())]);
  for (size_t i = 0; i < 1 + random.below(6); ++i) {
    const size_t at = random.below(source.size() + 1);
    const size_t size = random.below(12);
    switch (random.below(4)) {
      case 0:
        source.erase(at, size);
        break;
      case 1:
        source.insert(at, kSoup[random.below(kSoup.size())]);
        break;
      case 2:
        source.insert(at, source.substr(random.below(source.size() + 1), 4 * size));
        break;
      default:
        if (at < source.size()) source[at] = static_cast<char>(random.below(256));
    }
  }
  return source;
}

Limits small_limits() {
  Limits limits;
  limits.steps_max = 20'000;
  limits.value_bytes_max = 100'000;
  limits.built_bytes_max = 1'000'000;
  limits.output_bytes_max = 50'000;
  limits.range_max = 1000;
  return limits;
}

uint64_t seeds_wanted() {
  const char* const wanted = std::getenv("SLUICE_JINJA_FUZZ_SEEDS");
  return wanted == nullptr ? 40'000 : std::strtoull(wanted, nullptr, 10);
}

void expect_sound(const Text& text, const Limits& limits) {
  EXPECT_LE(text.size(), limits.output_bytes_max);
  size_t end = 0;
  for (const Text::Run& run : text.runs()) {
    EXPECT_GT(run.end, end);
    end = run.end;
  }
  EXPECT_EQ(end, text.size());
}

TEST(JinjaFuzz, NothingCrashesHangsOrGoesPastItsLimits) {
  const Limits limits = small_limits();
  const Dict variables = variables_of(kVariables);
  size_t rendered = 0;
  for (uint64_t seed = 0; seed < seeds_wanted(); ++seed) {
    Random random(seed);
    const std::string source = random.below(2) == 0 ? mutated(random) : soup(random);
    SCOPED_TRACE("seed " + std::to_string(seed) + ": " + source);
    const Result<Template> compiled = Template::compile(source, limits);
    if (!compiled.ok()) {
      EXPECT_FALSE(compiled.status().message().empty());
      continue;
    }
    const Result<Text> text = compiled->render(variables, at_seconds(kNowSeconds));
    if (text.ok()) {
      ++rendered;
      expect_sound(*text, limits);
    }
  }
  EXPECT_GT(rendered * 50, seeds_wanted());
}

TEST(JinjaFuzz, TheGoodTemplatesAreGood) {
  for (const std::string_view source : kGood) {
    const Status status = Template::compile(source).status();
    EXPECT_TRUE(status.ok()) << status << ": " << source;
  }
}

}  // namespace
}  // namespace sluice::jinja
