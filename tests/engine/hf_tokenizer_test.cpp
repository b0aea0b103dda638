// What is refused in a Hugging Face folder, and what tokenizer_config.json changes.

#include "engine/hf_tokenizer.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "engine/bpe_tokenizer.h"
#include "engine/chat_template.h"
#include "tests/engine/tokenizer_fixture.h"

namespace sluice::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Ids = std::vector<int32_t>;
using nlohmann::json;

/// A small tokenizer.json that is good; tests break it.
json document() {
  return json::parse(R"({
    "added_tokens": [{"id": 4, "content": "<s>", "special": true}, {"id": 5, "content": "</s>", "special": true},
                     {"id": 6, "content": "<tool>", "special": false, "normalized": false}],
    "normalizer": null,
    "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
    "post_processor": {"type": "TemplateProcessing",
      "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
      "special_tokens": {"<s>": {"id": "<s>", "ids": [4], "tokens": ["<s>"]}}},
    "decoder": {"type": "ByteLevel"},
    "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2, "Ġ": 3}, "merges": [["a", "b"]]}
  })");
}

Result<TokenizerSpec> read(const json& broken, const HfTokenizerConfig& config = {}) {
  return hf_tokenizer_spec(broken, config, "f.json");
}

/// `patch` is merged into the document; null takes a member away.
void expect_refused(std::string_view patch, std::string_view reason) {
  json broken = document();
  broken.merge_patch(json::parse(patch));
  const Result<TokenizerSpec> spec = read(broken);
  ASSERT_FALSE(spec.ok()) << "expected: " << reason;
  EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(spec.status().message(), HasSubstr("f.json: " + std::string(reason)));
  EXPECT_EQ(spec.status().message().find('\n'), std::string::npos);
}

/// Sets what merge_patch can't: a place in the document.
void expect_refused_at(const std::string& pointer, const json& value, std::string_view reason) {
  json broken = document();
  broken[json::json_pointer(pointer)] = value;
  const Result<TokenizerSpec> spec = read(broken);
  ASSERT_FALSE(spec.ok()) << "expected: " << reason;
  EXPECT_THAT(spec.status().message(), HasSubstr(reason));
}

/// Processor seconds to read the document with `count` more special tokens.
double seconds_with_added(int32_t count) {
  json many = document();
  for (int32_t i = 0; i < count; ++i) {
    many["added_tokens"].push_back({{"id", 7 + i}, {"content", "<" + std::to_string(i) + ">"}, {"special", true}});
  }
  const double begin = processor_seconds();
  const Result<TokenizerSpec> spec = read(many);
  EXPECT_TRUE(spec.ok()) << spec.status();
  return processor_seconds() - begin;
}

TEST(HfTokenizerSpec, TakesTimeInProportionToTheAddedTokens) {
  const double few = seconds_with_added(10'000);
  EXPECT_LT(seconds_with_added(80'000), 24 * few + 0.1)
      << "eight times as many; were each compared with all, 64 times as long";
}

TEST(HfTokenizerSpec, RefusesModelsOfOtherTypesByName) {
  expect_refused(R"({"model": {"type": "Unigram", "vocab": [["a", -1.0]]}})",
                 "model has the type \"Unigram\", which is not supported");
  expect_refused(R"({"model": {"type": "WordPiece"}})", "model has the type \"WordPiece\"");
  expect_refused(R"({"model": {"type": null, "merges": null}})", "model has the type \"\"");
  expect_refused(R"({"model": null})", "model is missing");
  expect_refused(R"({"model": {"dropout": 0.1}})", "model.dropout is not 0");
  expect_refused(R"({"model": {"end_of_word_suffix": "</w>"}})", "model has a end_of_word_suffix");
  expect_refused(R"({"model": {"continuing_subword_prefix": "##"}})", "model has a continuing_subword_prefix");
  EXPECT_TRUE(read(document()).ok());
}

TEST(HfTokenizerSpec, RefusesComponentsThatItDoesntKnowByNameAndPlace) {
  expect_refused(R"({"normalizer": {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Precompiled"}]}})",
                 "normalizer.normalizers[1] has the type \"Precompiled\"");
  expect_refused(R"({"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "UnicodeScripts"}]}})",
                 "pre_tokenizer.pretokenizers[0] has the type \"UnicodeScripts\"");
  expect_refused(R"({"decoder": {"type": "WordPiece"}})", "decoder has the type \"WordPiece\"");
  expect_refused(R"({"post_processor": {"type": "BertProcessing"}})", "post_processor has the type \"BertProcessing\"");
  expect_refused(R"({"decoder": null})", "decoder is missing");
  expect_refused(R"({"normalizer": {"type": 3}})", "normalizer.type is not a string");
  expect_refused(R"({"normalizer": "NFC"})", "normalizer is not an object");
  expect_refused(R"({"normalizer": {"type": "Sequence"}})", "normalizer.normalizers is missing");
}

TEST(HfTokenizerSpec, RefusesOptionsThatItCantFollow) {
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "behavior": "Isolated"}})", "pre_tokenizer.pattern is missing");
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "a"}, "behavior": "Sideways"}})",
                 "pre_tokenizer.behavior is none of Isolated");
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated"}})",
                 "pre_tokenizer.pattern can't be used: the regular expression can't be compiled");
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "[a&&b]"}, "behavior": "Isolated"}})",
                 "pre_tokenizer.pattern can't be used: the regular expression has && at byte 2");
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "pattern": {"String": ""}, "behavior": "Isolated"}})",
                 "pre_tokenizer.pattern is empty");
  expect_refused(R"({"pre_tokenizer": {"type": "Split", "pattern": {}, "behavior": "Isolated"}})",
                 "pre_tokenizer.pattern has neither");
  expect_refused(R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "__"}})",
                 "pre_tokenizer.replacement is not one character");
  expect_refused(R"({"pre_tokenizer": {"type": "Metaspace", "replacement": "_", "prepend_scheme": "last"}})",
                 "pre_tokenizer.prepend_scheme is none of always");
  expect_refused(R"({"decoder": {"type": "Strip", "content": "_", "start": 1, "stop": 0}})",
                 "decoder strips something");
  expect_refused(R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"},
                     {"type": "Strip", "content": " ", "start": 0, "stop": 1}]}})",
                 "decoder.decoders[1] strips the text's end");
  expect_refused(R"({"decoder": {"type": "Sequence", "decoders": [{"type": "Fuse"},
                     {"type": "Replace", "pattern": {"String": "a"}, "content": "b"}]}})",
                 "decoder.decoders[1] (Replace) works on the whole text");
}

TEST(HfTokenizerSpec, RefusesVocabulariesThatContradictThemselves) {
  expect_refused(R"({"model": {"vocab": {"c": 2}}})", "model.vocab gives the id 2 to \"ab\" and to \"c\"");
  expect_refused(R"({"model": {"vocab": {"c": -1}}})", "model.vocab gives \"c\" no id");
  expect_refused(R"({"model": {"vocab": {"c": 1.5}}})", "model.vocab gives \"c\" no id");
  expect_refused(R"({"model": {"vocab": {"c": 2147483646}}})", "model.vocab gives \"c\" the id 2147483646, far beyond");
  expect_refused(R"({"model": {"vocab": {"": 7}}})", "model.vocab has a token without a name");
  expect_refused(R"({"model": {"unk_token": "<unk>"}})", "model names the unk_token \"<unk>\", which is no token");
  expect_refused_at("/model/vocab", json::array(), "model.vocab is not an object");
  expect_refused_at("/added_tokens/0/id", 0, "added_tokens[0] gives the id 0 to \"a\" and to \"<s>\"");
  expect_refused_at("/added_tokens/0/id", -1, "added_tokens[0].id is not the id of a token");
  expect_refused_at("/added_tokens/0/content", "a", "added_tokens[0] has the id 4, but \"a\" is token 0");
  expect_refused_at("/added_tokens/0/content", "", "added_tokens[0] has an empty content");
  expect_refused_at("/added_tokens/0/special", "yes", "added_tokens[0].special is neither true nor false");
}

TEST(HfTokenizerSpec, RefusesMergesThatLeadNowhere) {
  const auto with_merge = [](const json& merge, std::string_view reason) {
    json broken = document();
    broken["model"]["merges"].push_back(merge);
    const Result<TokenizerSpec> spec = read(broken);
    ASSERT_FALSE(spec.ok()) << merge;
    EXPECT_THAT(spec.status().message(), HasSubstr("f.json: model.merges[1] " + std::string(reason)));
  };
  with_merge("ab", "is not two tokens with a blank between them");
  with_merge("a b c", "is not two tokens with a blank between them");
  with_merge(json::array({"a"}), "is not two tokens");
  with_merge(json::array({"a", "a"}), "names \"aa\", which is no token");
  with_merge("a c", "names \"c\", which is no token");
  with_merge("<tool> a", "names \"<tool>\", which is no token");
  with_merge("a b", "is there twice");
  with_merge(7, "is not a string");
}

TEST(HfTokenizerSpec, RefusesTemplatesWithoutATextOrWithUnknownTokens) {
  expect_refused(R"({"post_processor": {"single": []}})", "post_processor has no place for the text");
  expect_refused(R"({"post_processor": {"special_tokens": {"<s>": {"ids": [7]}}}})",
                 "the document puts the token 7 around texts, outside the 7 tokens");
  expect_refused(R"({"post_processor": {"special_tokens": {"<s>": null}}})",
                 "post_processor.special_tokens.<s> is missing");
}

TEST(HfTokenizerSpec, NeverMakesASpecialTokenOfText) {
  json tricky = document();
  tricky["model"]["vocab"] = {{"<", 0}, {"s", 1}, {">", 2}, {"<s", 3}, {"<s>", 4}, {"ab", 7}};
  tricky["model"]["merges"] = {"< s", "<s >"};
  tricky["model"]["ignore_merges"] = true;
  tricky["pre_tokenizer"]["use_regex"] = false;
  Result<TokenizerSpec> spec = read(tricky);
  ASSERT_TRUE(spec.ok()) << spec.status();
  const BpeTokenizer tokenizer(*std::move(spec));
  EXPECT_THAT(encode(tokenizer, "<s>"), ElementsAre(3, 2));
  EXPECT_THAT(encode(tokenizer, "<s>", SpecialTokens::kParse), ElementsAre(4));
}

class HfFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = ::testing::TempDir() + "hf_folder_" + test->name() + "_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    write("tokenizer.json", document().dump());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, std::string_view text) const {
    std::ofstream(folder_ + "/" + name, std::ios::binary) << text;
  }
  std::unique_ptr<Tokenizer> open() const {
    Result<std::unique_ptr<Tokenizer>> opened = Tokenizer::from_folder(folder_);
    EXPECT_TRUE(opened.ok()) << opened.status();
    return opened.ok() ? *std::move(opened) : nullptr;
  }
  std::string failure() const { return Tokenizer::from_folder(folder_).status().message(); }
  std::string rendered(const Result<ChatTemplate>& chat_template, bool with_tools = false) const {
    EXPECT_TRUE(chat_template.ok()) << chat_template.status();
    ChatPrompt prompt;
    prompt.messages_json = R"([{"role":"user","content":"x"}])";
    if (with_tools) prompt.tools_json = R"([{"type":"function"}])";
    const Result<std::vector<TextRun>> runs = chat_template->render(prompt);
    EXPECT_TRUE(runs.ok()) << runs.status();
    std::string text;
    for (const TextRun& run : *runs) text += run.text;
    return text;
  }

  std::string folder_;
};

TEST_F(HfFolder, NeedsATokenizerAlone) {
  const auto tokenizer = open();
  ASSERT_NE(tokenizer, nullptr);
  EXPECT_EQ(encode(*tokenizer, "ab b"), (Ids{2, 3, 1}));
  EXPECT_EQ(tokenizer->bos_id(), std::nullopt);
  EXPECT_THAT(tokenizer->prefix_ids(), ElementsAre(4));
  EXPECT_THAT(tokenizer->end_ids(), IsEmpty());
  std::filesystem::remove(folder_ + "/tokenizer.json");
  EXPECT_EQ(Tokenizer::from_folder(folder_).status().code(), StatusCode::kNotFound);
}

TEST_F(HfFolder, NamesTheFileThatIsBroken) {
  write("tokenizer.json", "{");
  EXPECT_THAT(failure(), HasSubstr("tokenizer.json: "));
  write("tokenizer.json", document().dump());
  write("tokenizer_config.json", R"({"bos_token": 7})");
  EXPECT_THAT(failure(), HasSubstr("tokenizer_config.json: bos_token is not a string"));
  write("tokenizer_config.json", R"({"eos_token": "<eos>"})");
  EXPECT_THAT(failure(), HasSubstr("tokenizer.json: the document has no token \"<eos>\", which is bos or eos"));
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"x": {"content": "y"}}})");
  EXPECT_THAT(failure(), HasSubstr("added_tokens_decoder has a member that is no id"));
  write("tokenizer_config.json", R"({"add_bos_token": 1})");
  EXPECT_THAT(failure(), HasSubstr("add_bos_token is neither true nor false"));
}

TEST_F(HfFolder, TakesBosAndEosFromTheConfiguration) {
  write("tokenizer_config.json", R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>"})");
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->bos_id(), 4);
  EXPECT_TRUE(tokenizer->adds_bos());
  EXPECT_THAT(tokenizer->end_ids(), ElementsAre(5));
}

TEST_F(HfFolder, TakesThemFromTheMapWhereTheConfigurationHasNone) {
  write("special_tokens_map.json", R"({"bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(open()->bos_id(), 4);
  EXPECT_THAT(open()->end_ids(), ElementsAre(5));
}

TEST_F(HfFolder, AddsWhatTheConfigurationAsksForInsteadOfTheTemplate) {
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": false})");
  EXPECT_THAT(open()->prefix_ids(), IsEmpty());
  EXPECT_FALSE(open()->adds_bos());
  write("tokenizer_config.json",
        R"({"bos_token": "<s>", "eos_token": "</s>", "add_bos_token": true, "add_eos_token": true})");
  EXPECT_THAT(open()->prefix_ids(), ElementsAre(4));
  EXPECT_THAT(open()->suffix_ids(), ElementsAre(5));
}

TEST_F(HfFolder, AddsTokensThatOnlyTheConfigurationHas) {
  write("tokenizer_config.json",
        R"({"added_tokens_decoder": {"7": {"content": "<more>", "special": true}, "4": {"content": "<s>"}}})");
  const auto tokenizer = open();
  EXPECT_EQ(tokenizer->vocab_size(), 8);
  EXPECT_EQ(encode(*tokenizer, "a<more>", SpecialTokens::kParse), (Ids{0, 7}));
  EXPECT_TRUE(tokenizer->is_special(7));
  EXPECT_TRUE(tokenizer->is_special(4));
}

TEST_F(HfFolder, TakesATokenForSpecialWhereEitherFileSaysSo) {
  EXPECT_EQ(encode(*open(), "<tool>"), (Ids{6}));
  write("tokenizer_config.json", R"({"added_tokens_decoder": {"6": {"content": "<tool>", "special": true}}})");
  EXPECT_THAT(encode(*open(), "<tool>"), IsEmpty());  // spelled in bytes that this vocabulary doesn't have
  EXPECT_EQ(encode(*open(), "<tool>", SpecialTokens::kParse), (Ids{6}));
  EXPECT_TRUE(open()->is_special(6));
}

TEST_F(HfFolder, RendersTheTemplateOfItsOwnFileFirst) {
  EXPECT_EQ(ChatTemplate::from_folder(folder_).status().code(), StatusCode::kNotFound);
  write("tokenizer_config.json", R"({"bos_token": "<s>", "chat_template": "{{ bos_token }}config"})");
  EXPECT_EQ(rendered(ChatTemplate::from_folder(folder_)), "<s>config");
  write("chat_template.jinja", "{{ bos_token }}file");
  EXPECT_EQ(rendered(ChatTemplate::from_folder(folder_)), "<s>file");
}

TEST_F(HfFolder, RendersTheTemplateForToolsWhereThereAreTools) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "default", "template": "plain"},
                                     {"name": "tool_use", "template": "tools"}, {"name": "rag", "template": "{%"}]})");
  EXPECT_EQ(rendered(ChatTemplate::from_folder(folder_)), "plain");
  EXPECT_EQ(rendered(ChatTemplate::from_folder(folder_), true), "tools");
}

TEST_F(HfFolder, NamesTheTemplateThatCantBeCompiled) {
  write("tokenizer_config.json", R"({"chat_template": "{% if %}"})");
  EXPECT_THAT(ChatTemplate::from_folder(folder_).status().message(),
              HasSubstr("tokenizer_config.json: chat_template default: "));
  write("chat_template.jinja", "{% if %}");
  EXPECT_THAT(ChatTemplate::from_folder(folder_).status().message(), HasSubstr("chat_template.jinja: "));
}

}  // namespace
}  // namespace sluice::engine
