#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/bpe_tokenizer.h"
#include "engine/hf_tokenizer.h"
#include "engine/json_file.h"
#include "tests/engine/fuzz_seeds.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

// Between them these have each component once.
constexpr std::array<std::string_view, 4> kGood = {
    R"({"added_tokens":[{"id":8,"content":"<s>","special":true,"normalized":false,"lstrip":true,"rstrip":false},
        {"id":9,"content":"word","special":false,"normalized":true,"single_word":true}],
       "normalizer":{"type":"Sequence","normalizers":[{"type":"NFC"},{"type":"Lowercase"},
         {"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "},{"type":"Strip","strip_left":true}]},
       "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":
         "(?i:'s|'t)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}|\\s+(?!\\S)|\\s+"},"behavior":"Isolated","invert":false},
         {"type":"Digits","individual_digits":true},
         {"type":"ByteLevel","add_prefix_space":true,"use_regex":false}]},
       "post_processor":{"type":"Sequence","processors":[{"type":"ByteLevel"},{"type":"TemplateProcessing",
         "single":[{"SpecialToken":{"id":"<s>"}},{"Sequence":{"id":"A"}}],"special_tokens":{"<s>":{"ids":[8]}}}]},
       "decoder":{"type":"ByteLevel"},
       "model":{"type":"BPE","ignore_merges":true,"vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġa":4,"1":5,"s":6,"'":7},
         "merges":["a b","Ġ a"]}})",
    R"({"added_tokens":[{"id":0,"content":"<unk>","special":true},{"id":1,"content":"▁▁","special":false}],
       "normalizer":{"type":"Sequence","normalizers":[{"type":"Prepend","prepend":"▁"},
         {"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
       "pre_tokenizer":null,"post_processor":null,
       "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
         {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
       "model":{"type":"BPE","unk_token":"<unk>","fuse_unk":true,"byte_fallback":true,
         "vocab":{"<unk>":0,"▁▁":1,"▁":2,"a":3,"▁a":4,"<0xC3>":5,"<0xA9>":6,"b":7},
         "merges":[["▁","▁"],["▁","a"]]}})",
    R"({"added_tokens":[],"normalizer":{"type":"NFKD"},
       "pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},
       "decoder":{"type":"Metaspace","replacement":"▁","prepend_scheme":"first","split":true},
       "model":{"type":"BPE","unk_token":"a","fuse_unk":false,"vocab":{"▁":0,"a":1,"b":2,"▁b":3,"ab":4},
         "merges":["▁ b","a b"]}})",
    R"({"added_tokens":[{"id":3,"content":"<t>","special":false,"normalized":false,"rstrip":true}],
       "normalizer":{"type":"ByteLevel"},
       "pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Punctuation","behavior":"Contiguous"},
         {"type":"Whitespace"},{"type":"Split","pattern":{"String":"a"},"behavior":"MergedWithNext","invert":true}]},
       "decoder":{"type":"Sequence","decoders":[{"type":"Strip","content":" ","start":1,"stop":1},
         {"type":"ByteLevel"}]},
       "model":{"type":"BPE","vocab":{"a":0,"b":1,"Ġ":2},"merges":[]}})",
};

constexpr std::array<std::string_view, 46> kSoup = {"null",
                                                    "true",
                                                    "0",
                                                    "-1",
                                                    "2147483647",
                                                    "1e99",
                                                    "\"\"",
                                                    "\"a\"",
                                                    "\"▁\"",
                                                    "[]",
                                                    "{}",
                                                    "[[[[[[[[",
                                                    "\"type\":",
                                                    "\"BPE\"",
                                                    "\"Unigram\"",
                                                    "\"Sequence\"",
                                                    "\"Split\"",
                                                    "\"Metaspace\"",
                                                    "\"ByteLevel\"",
                                                    "\"Fuse\"",
                                                    "\"Replace\"",
                                                    "\"NFKC\"",
                                                    "\"Removed\"",
                                                    "\"MergedWithPrevious\"",
                                                    "\"Regex\"",
                                                    "\"(a|b)*\"",
                                                    "\"(?=a)\"",
                                                    "\"(?<=b)|^|$\"",
                                                    "\"[^(\\\\s|[.,])]+\"",
                                                    "\"a{0,999}\"",
                                                    "\"(a*)*b\"",
                                                    "\"\\\\u0041\"",
                                                    "\"\\\\p{L}\"",
                                                    "\"\\\\K\"",
                                                    "\"[\"",
                                                    "\"(\"",
                                                    "\\u0000",
                                                    "\\ud800",
                                                    "\"special\":true",
                                                    "\"special\":false",
                                                    "\"normalized\":true",
                                                    "\"<s>\"",
                                                    "\"<0x41>\"",
                                                    ",",
                                                    "\xFF",
                                                    "é"};

constexpr std::string_view kText = "  ab word's <s> a1234 é \u212B \u00BD\t\r\n ▁▁b <t>  aab word <unk> ABC\u3000'T ";

/// Puts another value in the place of one of the document's.
void change_a_value(nlohmann::json& document, FuzzRandom& random) {
  nlohmann::json* place = &document;
  while (place->is_structured() && !place->empty() && random.below(8) != 0) {
    auto next = place->begin();
    std::advance(next, static_cast<std::ptrdiff_t>(random.below(place->size())));
    place = &*next;
  }
  const nlohmann::json value = nlohmann::json::parse(kSoup[random.below(kSoup.size())], nullptr, false);
  if (!value.is_discarded()) *place = value;
}

std::string mutated(FuzzRandom& random) {
  std::string text(kGood[random.below(kGood.size())]);
  if (random.below(2) == 0) {
    nlohmann::json document = nlohmann::json::parse(text);
    for (size_t i = 0; i < 1 + random.below(3); ++i) change_a_value(document, random);
    return document.dump();
  }
  for (size_t i = 0; i < 1 + random.below(3); ++i) {
    const size_t at = random.below(text.size() + 1);
    const size_t size = random.below(8);
    switch (random.below(4)) {
      case 0:
        text.erase(at, size);
        break;
      case 1:
        text.insert(at, kSoup[random.below(kSoup.size())]);
        break;
      case 2:
        text.insert(at, text.substr(random.below(text.size() + 1), 4 * size));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
    }
  }
  return text;
}

Result<TokenizerSpec> read(std::string_view text) {
  SLUICE_ASSIGN_OR_RETURN(const nlohmann::json document, parse_json(text));
  return hf_tokenizer_spec(document, {}, "f.json");
}

/// What it makes of a text are tokens, none of them special unless names are parsed or it stands for the unknown.
void expect_sound(const Tokenizer& tokenizer) {
  for (const SpecialTokens special : {SpecialTokens::kAsText, SpecialTokens::kParse}) {
    const Result<std::vector<int32_t>> ids = tokenizer.encode(kText, special);
    if (!ids.ok()) {
      EXPECT_FALSE(ids.status().message().empty());
      continue;
    }
    for (const int32_t id : *ids) {
      ASSERT_TRUE(id >= 0 && id < tokenizer.vocab_size());
      const bool may_be_special = special == SpecialTokens::kParse || tokenizer.token_bytes(id) == "<unk>";
      EXPECT_TRUE(may_be_special || !tokenizer.is_special(id)) << tokenizer.token_bytes(id);
    }
    EXPECT_LE(decode(tokenizer, *ids).size(), 1'000'000U);
  }
}

TEST(TokenizerFileFuzz, NothingCrashesHangsOrMakesSpecialTokensOfText) {
  FuzzSeeds seeds(10'000);
  size_t read_count = 0;
  while (seeds.advance()) {
    FuzzRandom random(seeds.seed());
    const std::string text = mutated(random);
    SCOPED_TRACE("seed " + std::to_string(seeds.seed()) + ": " + text);
    const double begin = thread_seconds();
    Result<TokenizerSpec> spec = read(text);
    if (!spec.ok()) {
      EXPECT_FALSE(spec.status().message().empty());
      EXPECT_EQ(spec.status().message().find('\n'), std::string::npos);
      continue;
    }
    ++read_count;
    expect_sound(BpeTokenizer(*std::move(spec)));
    EXPECT_LT(thread_seconds() - begin, 2.0);
  }
  EXPECT_TRUE(seeds.is_one() || read_count * 20 > seeds.runs()) << read_count;
}

TEST(TokenizerFileFuzz, TheGoodDocumentsAreGood) {
  for (const std::string_view text : kGood) {
    const Status status = read(text).status();
    EXPECT_TRUE(status.ok()) << status << ": " << text;
  }
}

}  // namespace
}  // namespace sluice::engine
