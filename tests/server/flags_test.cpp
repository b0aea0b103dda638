#include "server/flags.h"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "server/config_file.h"

namespace sluice::server {
namespace {

using Outcome = CommandLine;

Outcome parse(const std::vector<const char*>& arguments) {
  return parse_command_line(arguments, "1.2.3");
}

/// Of a command line that is to be fine; the model is given for it.
Config config_of(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), {"--model", "m.gguf"});
  const Outcome outcome = parse(arguments);
  if (const EarlyExit* const early = std::get_if<EarlyExit>(&outcome)) {
    ADD_FAILURE() << early->text;
    return {};
  }
  return std::get<Config>(outcome);
}

EarlyExit exit_of(const std::vector<const char*>& arguments) {
  const Outcome outcome = parse(arguments);
  if (std::holds_alternative<EarlyExit>(outcome)) return std::get<EarlyExit>(outcome);
  return {.code = -1, .text = "no exit"};
}

/// The text of a refusal, which is one line and has exit code 2.
std::string refusal_of(const std::vector<const char*>& arguments) {
  const EarlyExit early = exit_of(arguments);
  EXPECT_EQ(early.code, 2) << early.text;
  EXPECT_EQ(early.text.find('\n'), early.text.size() - 1) << early.text;
  return early.text;
}

/// A configuration file that goes with the test.
class TempFile {
 public:
  explicit TempFile(const std::string& text) : path_(testing::TempDir() + "sluice_flags_" + unique_name() + ".yaml") {
    std::ofstream(path_) << text;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const char* path() const { return path_.c_str(); }

 private:
  static std::string unique_name() { return testing::UnitTest::GetInstance()->current_test_info()->name(); }
  const std::string path_;
};

TEST(Flags, RefuseWhatIsUnknown) {
  EXPECT_NE(refusal_of({"--modle", "x"}).find("--modle"), std::string::npos);
  EXPECT_NE(refusal_of({"stray"}).find("stray"), std::string::npos);
  EXPECT_NE(refusal_of({"--model"}).find("--model"), std::string::npos);
  EXPECT_NE(refusal_of({"--model", "a", "b"}).find("b"), std::string::npos);
  refusal_of({"--\n\x1b[31m"});
  refusal_of({""});
}

TEST(Flags, RefuseBrokenSettings) {
  EXPECT_EQ(refusal_of({"--set", "kv.block_size"}),
            "sluiced: --set: must be section.key=value, not \"kv.block_size\"\n");
  EXPECT_EQ(refusal_of({"--set", "block_size=8.5"}),
            "sluiced: --set: must be section.key=value, not \"block_size=8.5\"\n");
  EXPECT_EQ(refusal_of({"--set", "kv.block-size=8"}),
            "sluiced: --set: kv.block-size is not a known key; did you mean kv.block_size?\n");
  EXPECT_EQ(refusal_of({"--set", "kw.block_size=8"}), "sluiced: --set: kw is not a known section; did you mean kv?\n");
  EXPECT_EQ(refusal_of({"--set", "kv.block_size="}),
            "sluiced: --set: kv.block_size must be a whole number that fits 32 bits, not \"\"\n");
  EXPECT_EQ(refusal_of({"--set", "kv.block_size=0"}), "sluiced: --set: kv.block_size must be from 1 to 1024, not 0\n");
}

TEST(Flags, AnErrorNamesTheFlagAndTheKey) {
  EXPECT_EQ(refusal_of({"--threads", "many"}),
            "sluiced: --threads: engine.threads must be a whole number that fits 32 bits, not \"many\"\n");
  EXPECT_EQ(refusal_of({"--threads", "-1"}), "sluiced: --threads: engine.threads must be from 0 to 1024, not -1\n");
  // B35 multi-gpu (c) and (d)
  EXPECT_EQ(refusal_of({"--tp", "0"}), "sluiced: --tp: engine.tensor_parallel must be from 1 to 64, not 0\n");
  EXPECT_EQ(refusal_of({"--tp", "-1"}), "sluiced: --tp: engine.tensor_parallel must be from 1 to 64, not -1\n");
  EXPECT_EQ(refusal_of({"--grpc-listen", "50051"}).substr(0, 43), "sluiced: --grpc-listen: server.grpc_listen ");
}

TEST(B35_Flags, e_a_device_is_taken_by_its_name) {
  EXPECT_EQ(config_of({"--device", "cuda:7"}).engine.device, "cuda:7");
  EXPECT_EQ(refusal_of({"--model", "m", "--device", "cuda:64"}),
            "sluiced: --device: engine.device must be auto, cpu, cuda, or cuda:0 to cuda:63, not \"cuda:64\"\n");
}

TEST(Flags, RefuseToServeWithoutAModel) {
  EXPECT_EQ(refusal_of({}), "sluiced: no model to serve: give --model PATH or set model.path\n");
}

TEST(Flags, RefuseTwoFilesAndAMissingOne) {
  EXPECT_EQ(refusal_of({"--config", "a", "--config", "b"}),
            "sluiced: --config: is given twice; one file holds the whole configuration\n");
  EXPECT_NE(refusal_of({"--config", "/nowhere/my.yaml"}).find("/nowhere/my.yaml"), std::string::npos);
}

TEST(B30_Flags, a_a_fault_in_the_file_names_file_line_and_key) {
  const TempFile file("kv:\n  blok_size: 8\n");
  EXPECT_EQ(
      refusal_of({"--config", file.path()}),
      "sluiced: " + std::string(file.path()) + ":2: kv.blok_size is not a known key; did you mean kv.block_size?\n");
}

TEST(B30_Flags, i_flags_and_settings_win_over_the_file) {
  const TempFile file("engine:\n  threads: 4\nkv:\n  block_size: 8\n  dtype: bf16\n");
  const Config config = config_of({"--set", "kv.block_size=32", "--config", file.path(), "--threads", "0"});
  EXPECT_EQ(config.engine.threads, 0);
  EXPECT_EQ(config.kv.block_size, 32);
  EXPECT_EQ(config.kv.dtype, "bf16");
}

TEST(Flags, TheLastOfFlagsAndSettingsWins) {
  EXPECT_EQ(config_of({"--threads", "2", "--set", "engine.threads=3"}).engine.threads, 3);
  EXPECT_EQ(config_of({"--set", "engine.threads=3", "--threads", "2"}).engine.threads, 2);
  EXPECT_EQ(config_of({"--threads", "2", "--set", "engine.threads=3", "--threads=4"}).engine.threads, 4);
  EXPECT_EQ(config_of({"--set", "kv.block_size=1", "--set=kv.block_size=2"}).kv.block_size, 2);
}

TEST(Flags, AValueMayHoldEqualsSigns) {
  EXPECT_EQ(config_of({"--set", "model.path=/m/a=b.gguf"}).model.path, "/m/a=b.gguf");
  EXPECT_EQ(config_of({"--set", "model.name="}).model.name, "");
}

TEST(Flags, EachShorthandSetsItsKey) {
  const Config config =
      config_of({"--grpc-listen", "0.0.0.0:1", "--http-listen", "[::1]:2", "--device", "cpu", "--cpu-isa", "avx2"});
  EXPECT_EQ(config.model.path, "m.gguf");
  EXPECT_EQ(config.server.grpc_listen, "0.0.0.0:1");
  EXPECT_EQ(config.server.http_listen, "[::1]:2");
  EXPECT_EQ(config.engine.device, "cpu");
  EXPECT_EQ(config.engine.cpu_isa, "avx2");
}

TEST(Flags, CheckConfigPrintsTheEffectiveConfigAndNeedsNoModel) {
  Config expected;
  expected.kv.block_size = 32;
  const EarlyExit early = exit_of({"--check-config", "--set", "kv.block_size=32"});
  EXPECT_EQ(early.code, 0);
  EXPECT_EQ(early.text, effective_config(expected));
  refusal_of({"--check-config", "--set", "kv.block_size=0"});
}

TEST(Flags, TpIsTheNumberOfRanks) {
  EXPECT_EQ(config_of({}).engine.tensor_parallel, 1);
  EXPECT_EQ(config_of({"--tp", "3"}).engine.tensor_parallel, 3);
}

TEST(Flags, VerifyModelIsForAModelAndAValidConfiguration) {
  const Outcome outcome = parse({"--verify-model", "--model", "m.gguf", "--threads", "3"});
  ASSERT_TRUE(std::holds_alternative<VerifyModel>(outcome));
  EXPECT_EQ(std::get<VerifyModel>(outcome).config.model.path, "m.gguf");
  EXPECT_EQ(std::get<VerifyModel>(outcome).config.engine.threads, 3);
  EXPECT_NE(refusal_of({"--verify-model"}).find("no model"), std::string::npos);
  refusal_of({"--verify-model", "--model", "m.gguf", "--set", "kv.block_size=0"});
}

TEST(Flags, VersionAndHelpEndWell) {
  EXPECT_EQ(exit_of({"--version"}).text, "sluiced 1.2.3\n");
  EXPECT_EQ(exit_of({"--version"}).code, 0);
  const EarlyExit help = exit_of({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* const flag : {"--config", "--model", "--grpc-listen", "--http-listen", "--device", "--threads",
                                 "--cpu-isa", "--tp", "--set", "--check-config", "--verify-model", "--version"})
    EXPECT_NE(help.text.find(flag), std::string::npos) << flag;
}

}  // namespace
}  // namespace sluice::server
