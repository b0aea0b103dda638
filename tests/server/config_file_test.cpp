#include "server/config_file.h"

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include <gtest/gtest.h>

#include "server/config_keys.h"

namespace sluice::server {
namespace {

/// The message when a YAML text is read and checked, "" when it is a fine configuration.
std::string fault_of(std::string_view yaml) {
  ConfigDraft draft;
  Status status = read_yaml(yaml, "my.yaml", draft);
  if (status.ok()) status = draft.finish().status();
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
  return status.message();
}

Config config_of(std::string_view yaml) {
  ConfigDraft draft;
  const Status status = read_yaml(yaml, "my.yaml", draft);
  EXPECT_TRUE(status.ok()) << status;
  return draft.config();
}

/// Every key with its value, written.
std::map<std::string, std::string> values_of(const Config& config) {
  std::map<std::string, std::string> values;
  for_each_key(config, [&](std::string_view section, std::string_view key, const auto& field) {
    values[std::string(section) + '.' + std::string(key)] = write_value(field);
  });
  return values;
}

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return std::move(text).str();
}

const char* const kDefaultFile = SLUICE_SOURCE_DIR "/configs/default.yaml";

TEST(B30_Config, a_a_misspelt_section_stops_with_its_line_and_the_near_name) {
  EXPECT_EQ(fault_of("kv:\n  block_size: 8\nsevrer:\n  max_message_mib: 1\n"),
            "my.yaml:3: sevrer is not a known section; did you mean server?");
}

TEST(B30_Config, b_a_misspelt_key_stops_with_its_line_and_the_near_name) {
  EXPECT_EQ(fault_of("# mine\nkv:\n  blok_size: 8\n"),
            "my.yaml:3: kv.blok_size is not a known key; did you mean kv.block_size?");
}

TEST(B30_Config, c_the_spelling_with_a_dash_is_refused) {
  EXPECT_EQ(fault_of("kv:\n  block-size: 8\n"),
            "my.yaml:2: kv.block-size is not a known key; did you mean kv.block_size?");
}

TEST(B30_Config, d_a_key_or_section_twice_is_refused) {
  EXPECT_EQ(fault_of("kv:\n  block_size: 8\n  dtype: f16\n  block_size: 8\n"), "my.yaml:4: kv.block_size is set twice");
  EXPECT_EQ(fault_of("kv:\n  block_size: 8\nlog:\nkv:\n  dtype: f16\n"), "my.yaml:4: kv is set twice");
  EXPECT_EQ(fault_of("kv: {block_size: 8, \"block_size\": 8}"), "my.yaml:1: kv.block_size is set twice");
}

TEST(B30_Config, e_a_list_or_section_where_a_value_is_due_is_refused) {
  EXPECT_EQ(fault_of("kv:\n  block_size: [8]\n"), "my.yaml:2: kv.block_size must have one value, not a list");
  EXPECT_EQ(fault_of("kv:\n  block_size:\n    - 8\n"), "my.yaml:2: kv.block_size must have one value, not a list");
  EXPECT_EQ(fault_of("kv:\n  block_size: {tokens: 8}\n"),
            "my.yaml:2: kv.block_size must have one value, not a section");
  EXPECT_EQ(fault_of("kv: 8\n"), "my.yaml:1: kv is a section and must hold keys");
  EXPECT_EQ(fault_of("\nkv: [1]\n"), "my.yaml:2: kv is a section and must hold keys");
}

TEST(B30_Config, f_an_empty_file_means_the_defaults) {
  for (const char* const text :
       {"", "\n\n", "# only a comment\n", "---\n", "kv:\nlog:\n", "kv: {}", "~", "\xef\xbb\xbf"})
    EXPECT_EQ(values_of(config_of(text)), values_of(Config())) << text;
}

TEST(B30_Config, g_a_missing_file_is_named) {
  ConfigDraft draft;
  const Status status = read_config_file("/nowhere/my.yaml", draft);
  EXPECT_EQ(status.message(), "/nowhere/my.yaml: can't open this configuration file: No such file or directory");
}

TEST(B30_Config, h_a_tab_as_indent_is_refused_with_its_line) {
  EXPECT_EQ(fault_of("log:\n  level: info\nkv:\n\tblock_size: 8\n"), "my.yaml:4: a tab can't indent; use blanks");
  EXPECT_EQ(fault_of("kv:\n  \tblock_size: 8\n"), "my.yaml:2: a tab can't indent; use blanks");
  EXPECT_EQ(fault_of("kv:\n\t# a comment\n  block_size: 8\t# eight\n\t\n"), "");
}

TEST(ConfigFile, RefusesWhatIsNoConfiguration) {
  EXPECT_EQ(fault_of("- a\n"), "my.yaml:1: must hold sections, for example kv:");
  EXPECT_EQ(fault_of("hello"), "my.yaml:1: must hold sections, for example kv:");
  EXPECT_EQ(fault_of("kv:\n  dtype: f16\n---\nlog:\n"),
            "my.yaml:3: a second document; one file holds one configuration");
  EXPECT_EQ(fault_of("? [a]\n: b\n"), "my.yaml:1: a key must be a name");
  EXPECT_EQ(fault_of("kv:\n  ? {a: b}\n  : c\n"), "my.yaml:2: a key must be a name");
  for (const char* const broken : {"kv: [", "kv: {a", "kv: \"", "a: b: c", "kv:\n block_size: 1\n  dtype: f16\n", "&",
                                   "*nothing", "%YAML x\n---\n"})
    EXPECT_EQ(fault_of(broken).substr(0, 8), "my.yaml:") << broken;
}

TEST(ConfigFile, RefusesAKeyWithoutValue) {
  for (const char* const text : {"kv:\n  memory:\n", "kv:\n  memory: ~\n", "kv:\n  memory: null\n"})
    EXPECT_EQ(fault_of(text), "my.yaml:2: kv.memory must have one value, not nothing; write \"\" for an empty text");
}

TEST(ConfigFile, RefusesAValueOfAnotherType) {
  EXPECT_EQ(fault_of("kv:\n  block_size: lots\n"),
            "my.yaml:2: kv.block_size must be a whole number that fits 32 bits, not \"lots\"");
  EXPECT_EQ(fault_of("kv: {block_size: \"8\"}"),
            "my.yaml:1: kv.block_size must be a whole number that fits 32 bits, not \"8\" in quotes");
  EXPECT_EQ(fault_of("kv: {block_size: 4294967304}").substr(0, 40), "my.yaml:1: kv.block_size must be a whole");
  EXPECT_EQ(fault_of("scheduler: {tpot_target_ms: .nan}"),
            "my.yaml:1: scheduler.tpot_target_ms must be a number, not \".nan\"");
  EXPECT_EQ(fault_of("model:\n  path: |\n    a\n    b\n").substr(0, 36), "my.yaml:2: model.path must be one li");
}

TEST(ConfigFile, AValueOutOfBoundsIsReportedWhereItStands) {
  EXPECT_EQ(fault_of("log:\n  level: info\nkv:\n  block_size: 0\n"),
            "my.yaml:4: kv.block_size must be from 1 to 1024, not 0");
}

TEST(ConfigFile, AKeyInTheWrongSectionIsSentHome) {
  EXPECT_EQ(fault_of("kv:\n  max_running: 8\n"),
            "my.yaml:2: kv.max_running is not a known key; did you mean scheduler.max_running?");
  EXPECT_EQ(fault_of("max_running: 8\n"),
            "my.yaml:1: max_running is not a known section; did you mean scheduler.max_running?");
  EXPECT_EQ(fault_of("kv:\n  temperature: 8\n"),
            "my.yaml:2: kv.temperature is not a known key; known are memory, block_size, dtype, prefix_cache, "
            "share_across_tenants, reuse_outputs");
}

TEST(ConfigFile, AnchorsMeanWhatYamlSaysAndNothingMore) {
  EXPECT_EQ(config_of("kv:\n  block_size: &n 8\nengine:\n  threads: *n\n").engine.threads, 8);
  EXPECT_EQ(fault_of("kv: &a\n  block_size: 8\nlog:\n  <<: *a\n").substr(0, 33), "my.yaml:4: log.<< must have one v");
  EXPECT_NE(fault_of("kv: &a\n  block_size: *a\n"), "");
}

TEST(ConfigFile, TakesEachTypeAndKeepsTheRest) {
  const Config config = config_of(
      "kv:\n  memory: 536870912\n  block_size: 32\nscheduler: {tpot_target_ms: 2.5}\nmodel:\n  path: '/m/a b.gguf'\n");
  EXPECT_EQ(config.kv.memory, "536870912");
  EXPECT_EQ(config.kv.block_size, 32);
  EXPECT_EQ(config.scheduler.tpot_target_ms, 2.5);
  EXPECT_EQ(config.model.path, "/m/a b.gguf");
  EXPECT_EQ(config.kv.dtype, "f16");
}

TEST(ConfigFile, RefusesFoldersAndOversizeFiles) {
  ConfigDraft draft;
  EXPECT_EQ(read_config_file("/", draft).code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(fault_of("#" + std::string((1 << 20) - 1, ' ')), "");
  EXPECT_EQ(fault_of("#" + std::string(1 << 20, ' ')), "my.yaml: is larger than 1 MiB, no configuration");
}

TEST(ConfigFile, SurvivesHostileTexts) {
  EXPECT_NE(fault_of(std::string(100000, '[')), "");
  EXPECT_NE(fault_of(std::string(100000, '{')), "");
  EXPECT_NE(fault_of(",|\xff---\n---\n&a%:&a%%"), "");  // yaml-cpp 0.7 finds documents without end in it
  EXPECT_EQ(fault_of("k\xc3\x28y: 1\n"),
            "my.yaml:1: k?(y is not a known section; known are model, engine, kv, scheduler, server, security, log, "
            "metrics, tracing");
  std::mt19937 random(1);
  const std::string pieces[] = {"kv", ":",  "\n", "  ",    "[", "]", "{",   "}",  "&a",   "*a", "\"",         "'", "|",
                                ">",  "- ", "? ", "!!int", "#", "%", "---", "\t", "\xff", "8",  "block_size", ","};
  for (int round = 0; round < 3000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += pieces[random() % std::size(pieces)];
    static_cast<void>(fault_of(text));
  }
}

TEST(DefaultConfigFile, EqualsTheStructKeyByKey) {
  ConfigDraft draft;
  const Status status = read_config_file(kDefaultFile, draft);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(values_of(draft.config()), values_of(Config()));
}

TEST(DefaultConfigFile, NamesEveryKeyAndExplainsIt) {
  const std::string text = read_text(kDefaultFile);
  const Config defaults;
  for_each_key(defaults, [&](std::string_view section, std::string_view key, const auto&) {
    const size_t section_begin = text.find('\n' + std::string(section) + ":\n");
    ASSERT_NE(section_begin, std::string::npos) << section;
    const size_t section_end = text.find("\n\n", section_begin + 1);
    const size_t line = text.find("\n  " + std::string(key) + ": ", section_begin);
    ASSERT_LT(line, section_end) << section << '.' << key;
    const size_t before = text.rfind('\n', line - 1);
    EXPECT_EQ(text.substr(before + 1, 3), "  #") << section << '.' << key << " has no comment";
  });
}

TEST(EffectiveConfig, ReadsBackAsItself) {
  Config config;
  config.model.path = "/m/we\"ird \\ name: # \xc3\xbc.gguf";
  config.scheduler.tpot_target_ms = 0.1;
  config.kv.block_size = 32;
  EXPECT_EQ(values_of(config_of(effective_config(config))), values_of(config));
}

TEST(EffectiveConfig, FitsOneLogLine) {
  const std::string line = effective_config_line(Config());
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find(" kv.block_size=16 "), std::string::npos);
}

}  // namespace
}  // namespace sluice::server
