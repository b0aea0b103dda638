#include "offline/render.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace sluice::offline {
namespace {

using ::testing::HasSubstr;
using Runs = std::vector<engine::TextRun>;

/// A file named ".jinja" that goes away again.
class TemplateFile {
 public:
  explicit TemplateFile(std::string_view source)
      : path_(std::filesystem::temp_directory_path() / ("sluice_" + std::to_string(::getpid()) + ".jinja")) {
    std::ofstream(path_, std::ios::binary) << source;
  }
  ~TemplateFile() { std::filesystem::remove(path_); }
  TemplateFile(const TemplateFile&) = delete;
  TemplateFile& operator=(const TemplateFile&) = delete;
  std::string path() const { return path_.string(); }

 private:
  const std::filesystem::path path_;
};

RenderOptions options_for(std::string path) {
  RenderOptions options;
  options.path = std::move(path);
  options.prompt.messages_json = R"([{"role": "user", "content": "Hi"}])";
  return options;
}

TEST(OfflineRender, WritesThePromptOfASyntheticModel) {
  const Result<Runs> runs = render_prompt(options_for("synthetic:tiny"));
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(runs->front().text, "<|bos|>");
  EXPECT_EQ(runs->back().text, "\nassistant:");
  EXPECT_FALSE(render_prompt(options_for("synthetic:nothing")).ok());
}

TEST(OfflineRender, SaysThatAFileIsMissing) {
  EXPECT_EQ(render_prompt(options_for("/nonexistent/a.jinja")).status().code(), StatusCode::kNotFound);
  EXPECT_EQ(render_prompt(options_for("/nonexistent/a.gguf")).status().code(), StatusCode::kNotFound);
}

TEST(OfflineRender, TakesTheTemplateOfAModelFile) {
  const Result<Runs> runs = render_prompt(options_for(SLUICE_SOURCE_DIR "/tests/data/gguf/T_base.gguf"));
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(*runs, (Runs{{"<|user|>", engine::SpecialTokens::kParse}, {"Hi", engine::SpecialTokens::kAsText}}));
}

TEST(OfflineRender, NamesFileAndLineOfABadTemplate) {
  const TemplateFile file("\n{{ 1 + }}");
  EXPECT_THAT(render_prompt(options_for(file.path())).status().message(), HasSubstr(".jinja: line 2: "));
}

TEST(OfflineRender, GivesWhatTheModelWouldRead) {
  const TemplateFile file("{{ bos_token }}<{{ messages[0].content }}>");
  RenderOptions options = options_for(file.path());
  options.tokens.bos = "B";
  const Result<Runs> runs = render_prompt(options);
  ASSERT_TRUE(runs.ok()) << runs.status();
  EXPECT_EQ(*runs, (Runs{{"B<", engine::SpecialTokens::kParse},
                         {"Hi", engine::SpecialTokens::kAsText},
                         {">", engine::SpecialTokens::kParse}}));
}

}  // namespace
}  // namespace sluice::offline
