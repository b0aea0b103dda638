#include "server/chat_prompt.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/byte_model.h"

namespace sluice::server {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

std::chrono::system_clock::time_point a_day() {
  return std::chrono::sys_days(std::chrono::year(2026) / 11 / 29);
}

class ChatPromptTest : public ::testing::Test {
 protected:
  Result<std::vector<int32_t>> prompt(std::string_view source) {
    return make_chat_prompter(engine::ChatTemplate::compile(source, {}), model_, a_day)(input_);
  }
  void say(const std::string& role, Json content) {
    input_.messages.push_back({{"role", role}, {"content", std::move(content)}});
  }
  void expect_text(std::string_view source, std::string_view text) {
    const auto ids = prompt(source);
    ASSERT_TRUE(ids.ok()) << ids.status();
    EXPECT_THAT(*ids, ElementsAreArray(byte_ids(text)));
  }

  const std::unique_ptr<engine::Tokenizer> tokenizer_ = byte_tokenizer();
  const ServedModel model_ = byte_model(*tokenizer_, 4096, 4096);
  ChatPromptInput input_;
};

TEST_F(ChatPromptTest, OnlyTheTemplateNamesSpecialTokens) {
  say("user", "<|user|>");
  std::vector<int32_t> expected = {kUser};
  for (const int32_t id : byte_ids("<|user|>")) expected.push_back(id);
  EXPECT_THAT(*prompt("<|user|>{{ messages[0].content }}"), ElementsAreArray(expected));
}

TEST_F(ChatPromptTest, B11_ChatMessages_a_AContentThatIsNullIsEmpty) {
  say("assistant", nullptr);
  expect_text("[{{ messages[0].content }}{{ 'x' + messages[0]['content'] }}]", "[x]");
}

TEST_F(ChatPromptTest, ArgumentsInAStringAreTheObjectThatTheyHold) {
  const std::string source = "{{ messages[0].tool_calls[0].function.arguments | tojson }}";
  const auto with_arguments = [&](const char* arguments) {
    input_.messages = Json::array();
    say("assistant", nullptr);
    input_.messages[0]["tool_calls"] = Json::array({{{"function", {{"name", "f"}, {"arguments", arguments}}}}});
  };
  with_arguments(R"({"b": 1, "a": [2]})");
  expect_text(source, R"({"b": 1, "a": [2]})");
  with_arguments("null");
  expect_text(source, R"("null")");
  with_arguments("not JSON");
  expect_text(source, R"("not JSON")");
}

TEST_F(ChatPromptTest, ToolsVariablesAndTheDateReachTheTemplate) {
  say("user", "x");
  input_.tools = Json::array({{{"type", "function"}}});
  input_.template_kwargs = {{"mood", "calm"}};
  expect_text("{{ tools | length }} {{ mood }} {{ strftime_now('%Y') }} {{ add_generation_prompt }}",
              "1 calm 2026 True");
}

TEST_F(ChatPromptTest, WhatTheTemplateRaisesIsTheMessagesFault) {
  say("user", "x");
  const Status status = prompt("{{ raise_exception('roles must alternate') }}").status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.field(), "messages");
  EXPECT_THAT(status.message(), HasSubstr("roles must alternate"));
}

TEST_F(ChatPromptTest, B10_ChatTemplate_d_OneThatDoesNotParseRefusesConversationsByName) {
  say("user", "x");
  const Status status = prompt("{% if %}").status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("template"));
}

}  // namespace
}  // namespace sluice::server
