// Model files that nobody would write: mutations of good ones. Nothing may crash, take long or take much memory, and
// what is accepted keeps its promises. fuzz_seeds.h says how to run longer or one seed alone; a failure prints its
// seed.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "engine/chat_template.h"
#include "engine/gguf.h"
#include "engine/gguf_parser.h"
#include "engine/hf_config.h"
#include "engine/json_file.h"
#include "engine/safetensors_parser.h"
#include "engine/tokenizer.h"
#include "tests/engine/fuzz_seeds.h"
#include "tests/engine/gguf_builder.h"
#include "tests/engine/peak_memory.h"

namespace sluice::engine {
namespace {

constexpr double kSecondsMax = 2;              // of one run; a good file takes a millisecond, with sanitizers ten
constexpr int64_t kMemoryMaxKib = 768 * 1024;  // the address sanitizer keeps freed memory for a while

/// Runs `body` for each seed and holds what all fuzzers promise.
template <typename Body>
void fuzz(uint64_t count, const Body& body) {
  const int64_t before_kib = peak_memory_kib();
  FuzzSeeds seeds(count);
  uint64_t accepted = 0;
  while (seeds.advance() && !::testing::Test::HasFailure()) {
    SCOPED_TRACE("seed " + std::to_string(seeds.seed()));
    FuzzRandom random(seeds.seed());
    const double began = thread_seconds();
    accepted += body(random) ? 1 : 0;
    EXPECT_LT(thread_seconds() - began, kSecondsMax);
  }
  EXPECT_LT(peak_memory_kib() - before_kib, kMemoryMaxKib);
  if (seeds.is_one() || ::testing::Test::HasFailure()) return;
  // The mutations are neither too kind nor too cruel.
  EXPECT_GT(accepted * 200, seeds.runs());
  EXPECT_LT(accepted, seeds.runs());
}

void expect_one_line(const Status& status) {
  EXPECT_FALSE(status.message().empty());
  EXPECT_EQ(status.message().find('\n'), std::string::npos) << status;
  EXPECT_LT(status.message().size(), 2000U);
}

constexpr std::array<uint64_t, 12> kEdges = {0,          1,          2,           31,          0x7f,        0xff,
                                             0x7fffffff, 0xffffffff, 1ULL << 32U, 1ULL << 62U, 1ULL << 63U, ~0ULL};

/// Changes a few bytes, some of them into numbers at the edges of their types, or cuts, repeats or drops a piece.
template <typename Buffer>
void mutate(FuzzRandom& random, Buffer& bytes) {
  for (size_t i = 1 + random.below(4); i > 0 && bytes.size() > 16; --i) {
    const size_t at = random.below(bytes.size() - 8);
    auto* place = bytes.data() + at;
    switch (random.below(6)) {
      case 0: {
        const uint64_t edge = kEdges.at(random.below(kEdges.size()));
        std::memcpy(place, &edge, random.below(2) == 0 ? 4 : 8);
        break;
      }
      case 1: {
        const size_t size = random.below(24);
        const std::vector<typename Buffer::value_type> piece(place, place + std::min(size, bytes.size() - at));
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size())), piece.begin(),
                     piece.end());
        break;
      }
      case 2: {
        const auto end = std::min(bytes.size(), at + random.below(16));
        bytes.erase(bytes.begin() + static_cast<std::ptrdiff_t>(at), bytes.begin() + static_cast<std::ptrdiff_t>(end));
        break;
      }
      case 3:
        if (random.below(8) == 0) bytes.resize(at);
        break;
      default: {
        const auto bits = static_cast<uint8_t>(random.bits());
        std::memcpy(place, &bits, 1);
      }
    }
  }
}

/// What every caller relies on.
void expect_sound(const ModelConfig& config) {
  EXPECT_GT(config.vocab_size, 0);
  EXPECT_GT(config.layer_count, 0);
  EXPECT_GT(config.width, 0);
  EXPECT_GT(config.ffn_width, 0);
  EXPECT_GT(config.context_length, 0);
  ASSERT_GT(config.kv_head_count, 0);
  EXPECT_GT(config.head_count, 0);
  EXPECT_EQ(config.head_count % config.kv_head_count, 0);
  EXPECT_GT(config.head_dim, 0);
  EXPECT_LE(config.head_dim, kHeadDimMax);
  ASSERT_GT(config.rope_dim, 0);
  EXPECT_EQ(config.rope_dim % 2, 0);
  EXPECT_LE(config.rope_dim, config.head_dim);
  EXPECT_TRUE(std::isfinite(config.attention_scale) && config.attention_scale > 0);
  for (const RopeConfig* rope : {&config.rope, &config.window_rope}) {
    for (const double frequency : rope_frequencies(*rope, config.rope_dim)) EXPECT_TRUE(std::isfinite(frequency));
    EXPECT_TRUE(std::isfinite(rope->magnitude));
  }
  EXPECT_TRUE(config.layer_has_window.empty() ||
              config.layer_has_window.size() == static_cast<size_t>(config.layer_count));
  EXPECT_EQ(config.window > 0, !config.layer_has_window.empty());
  EXPECT_LE(config.experts.per_token, config.experts.count);
  for (const int32_t id : config.end_ids) EXPECT_TRUE(id >= 0 && id < config.vocab_size);
}

/// A small model file with all that the readers look for.
std::vector<std::byte> good_gguf() {
  GgufBuilder builder;
  builder.string("general.architecture", "llama").string("general.name", "small");
  for (const auto& [key, value] : std::vector<std::pair<std::string, uint32_t>>{{"block_count", 1},
                                                                                {"context_length", 64},
                                                                                {"embedding_length", 32},
                                                                                {"feed_forward_length", 32},
                                                                                {"attention.head_count", 2},
                                                                                {"attention.head_count_kv", 1},
                                                                                {"rope.dimension_count", 16},
                                                                                {"vocab_size", 4},
                                                                                {"attention.sliding_window", 16},
                                                                                {"expert_count", 0}}) {
    builder.u32("llama." + key, value);
  }
  builder.f32("llama.attention.layer_norm_rms_epsilon", 1e-5F).f32("llama.rope.freq_base", 10000.0F);
  builder.f32("llama.rope.scaling.factor", 2.0F).string("llama.rope.scaling.type", "linear");
  builder.string("tokenizer.ggml.model", "gpt2").string("tokenizer.ggml.pre", "llama-bpe");
  builder.strings("tokenizer.ggml.tokens", {"a", "b", "ab", "<|end|>"}).strings("tokenizer.ggml.merges", {"a b"});
  ByteWriter types;
  types.number(uint32_t{5}).number(uint64_t{4});
  for (const int32_t type : {1, 1, 1, 3}) types.number(type);
  builder.metadata("tokenizer.ggml.token_type", 9, types).u32("tokenizer.ggml.eos_token_id", 3);
  builder.string("tokenizer.chat_template", "{% for m in messages %}{{ m.content }}{% endfor %}");
  builder.u32("split.count", 1).u32("split.no", 0);
  const std::vector<std::byte> data(4 * 32 * 4);
  builder.tensor("token_embd.weight", {32, 4}, 0, data);
  builder.tensor("blk.0.attn_q.weight", {32, 4}, 8, std::span(data).first(4 * 34));
  builder.tensor("output_norm.weight", {32}, 1, std::span(data).first(64));
  return builder.build();
}

bool open_everything(const std::vector<std::byte>& bytes) {
  const TemporaryFile written(bytes);
  const Result<GgufFile> file = GgufFile::open(written.path());
  if (!file.ok()) return false;
  int64_t sum = 0;
  for (const StoredTensor& tensor : file->tensors()) {
    std::vector<float> row(static_cast<size_t>(tensor.row_length()));
    const auto row_bytes = static_cast<size_t>(tensor_bytes(tensor.type, tensor.row_length()));
    dequantize(tensor.type, tensor.data.last(row_bytes), row);
    sum += static_cast<int64_t>(row_bytes) * tensor.row_count() - static_cast<int64_t>(tensor.data.size());
  }
  EXPECT_EQ(sum, 0);
  const Result<ModelConfig> config = ModelConfig::from_gguf(*file);
  if (config.ok()) expect_sound(*config);
  if (!config.ok()) expect_one_line(config.status());
  if (const auto tokenizer = Tokenizer::from_gguf(*file); tokenizer.ok()) {
    EXPECT_TRUE((*tokenizer)->encode("ab a", SpecialTokens::kParse).ok());
  }
  static_cast<void>(ChatTemplate::from_gguf(*file));
  return config.ok();
}

TEST(GgufFileFuzz, NothingCrashesOrTakesMoreThanTheFileIsWorth) {
  const std::vector<std::byte> good = good_gguf();
  ASSERT_TRUE(open_everything(good));
  fuzz(3'000, [&](FuzzRandom& random) {
    std::vector<std::byte> bytes = good;
    mutate(random, bytes);
    const auto contents = parse_gguf(bytes);
    if (!contents.ok()) expect_one_line(contents.status());
    return contents.ok() && open_everything(bytes);
  });
}

std::vector<std::byte> safetensors_of(const std::string& header, size_t data_bytes) {
  return ByteWriter().string(header).append(std::vector<std::byte>(data_bytes)).bytes();
}

TEST(SafetensorsFileFuzz, NothingCrashesOrTakesMoreThanTheFileIsWorth) {
  const std::string good = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
                           R"("b":{"dtype":"BF16","shape":[4],"data_offsets":[24,32],"x":[{"y":null}]},)"
                           R"("c":{"dtype":"F16","shape":[],"data_offsets":[32,34]}})";
  ASSERT_TRUE(parse_safetensors(safetensors_of(good, 34)).ok());
  fuzz(20'000, [&](FuzzRandom& random) {
    std::string header = good;
    if (random.below(3) > 0) mutate(random, header);
    std::vector<std::byte> bytes = safetensors_of(header, 34);
    if (random.below(3) == 0) mutate(random, bytes);
    const auto entries = parse_safetensors(bytes);
    if (!entries.ok()) {
      expect_one_line(entries.status());
      return false;
    }
    size_t owned = 0;
    for (const SafetensorsEntry& entry : *entries) {
      size_t elements = 1;
      for (const int64_t length : entry.shape) elements *= static_cast<size_t>(length);
      EXPECT_EQ(entry.data.size(), elements * static_cast<size_t>(traits_of(entry.type).block_bytes));
      owned += entry.data.size();
      if (!entry.data.empty()) {
        EXPECT_EQ(std::to_integer<int>(entry.data.back()) >> 8, 0);  // it can be read
      }
    }
    EXPECT_LE(owned, bytes.size());
    return true;
  });
}

// Good ones, of which every member that is read is in one.
const std::array<std::string_view, 4> kConfigs = {
    R"({"model_type":"llama","vocab_size":320,"hidden_size":64,"intermediate_size":160,"num_hidden_layers":4,
        "num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"rms_norm_eps":1e-5,"hidden_act":"silu",
        "max_position_embeddings":512,"tie_word_embeddings":false,"eos_token_id":[5,6],"attention_bias":false,
        "mlp_bias":false,"rope_parameters":{"factor":8.0,"high_freq_factor":4.0,"low_freq_factor":1.0,
        "original_max_position_embeddings":64,"rope_theta":500000.0,"rope_type":"llama3"}})",
    R"({"model_type":"qwen2","vocab_size":320,"hidden_size":64,"intermediate_size":160,"num_hidden_layers":4,
        "num_attention_heads":4,"num_key_value_heads":2,"rms_norm_eps":1e-5,"max_position_embeddings":512,
        "use_sliding_window":true,"sliding_window":32,"max_window_layers":2,"eos_token_id":3,"rope_theta":1e6,
        "layer_types":["full_attention","full_attention","sliding_attention","sliding_attention"],
        "rope_scaling":{"type":"yarn","factor":4.0,"original_max_position_embeddings":128,"beta_fast":32,
        "beta_slow":1,"mscale":1.0,"mscale_all_dim":0.5,"truncate":false}})",
    R"({"model_type":"gemma3_text","vocab_size":320,"hidden_size":64,"intermediate_size":160,"num_hidden_layers":6,
        "num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,"rms_norm_eps":1e-6,"sliding_window":16,
        "hidden_activation":"gelu_pytorch_tanh","max_position_embeddings":512,"query_pre_attn_scalar":32,
        "_sliding_window_pattern":6,"attn_logit_softcapping":null,"rope_parameters":{"full_attention":
        {"rope_type":"linear","factor":8.0,"rope_theta":1e6},"sliding_attention":{"rope_type":"default"}}})",
    R"({"model_type":"qwen3_moe","vocab_size":320,"hidden_size":64,"intermediate_size":160,"num_hidden_layers":4,
        "num_attention_heads":4,"num_key_value_heads":2,"head_dim":32,"rms_norm_eps":1e-5,"num_experts":8,
        "max_position_embeddings":512,"num_experts_per_tok":2,"moe_intermediate_size":48,"norm_topk_prob":true,
        "decoder_sparse_step":1,"mlp_only_layers":[],"partial_rotary_factor":1.0})"};

constexpr std::array<std::string_view, 20> kValues = {"0",
                                                      "1",
                                                      "-1",
                                                      "7",
                                                      "1e308",
                                                      "0.5",
                                                      "1e-300",
                                                      "4294967296",
                                                      "18446744073709551615",
                                                      "null",
                                                      "true",
                                                      "\"\"",
                                                      "[]",
                                                      "{}",
                                                      "[1,2,3]",
                                                      "\"yarn\"",
                                                      "\"dynamic\"",
                                                      "[[]]",
                                                      "{\"rope_type\":\"linear\",\"factor\":2}",
                                                      "99999"};

/// Puts another value in the place of a number, so that more than the JSON's form is tried.
void replace_value(FuzzRandom& random, std::string& text) {
  const size_t colon = text.find(':', random.below(text.size()));
  if (colon == std::string::npos) return;
  const size_t end = text.find_first_of(",}]", colon);
  if (end == std::string::npos) return;
  text.replace(colon + 1, end - colon - 1, kValues.at(random.below(kValues.size())));
}

TEST(ConfigFileFuzz, NothingCrashesAndWhatIsAcceptedIsSound) {
  for (const std::string_view good : kConfigs) {
    const auto config = read_hf_config(parse_json(good).value(), "config.json", "m");
    EXPECT_TRUE(config.ok()) << config.status();
  }
  fuzz(5'000, [&](FuzzRandom& random) {
    std::string text(kConfigs.at(random.below(kConfigs.size())));
    for (size_t i = random.below(4); i > 0; --i) replace_value(random, text);
    if (random.below(4) == 0) mutate(random, text);
    const auto document = parse_json(text);
    if (!document.ok()) {
      expect_one_line(document.status());
      return false;
    }
    Result<HfConfig> config = read_hf_config(*document, "config.json", "m");
    if (!config.ok()) {
      expect_one_line(config.status());
      return false;
    }
    static_cast<void>(add_generation_ends(*document, "generation_config.json", config->model));
    expect_sound(config->model);
    return true;
  });
}

}  // namespace
}  // namespace sluice::engine
