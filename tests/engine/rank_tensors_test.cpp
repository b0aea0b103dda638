#include "engine/rank_tensors.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/weight_picker.h"
#include "tests/engine/backend_ops.h"

namespace sluice::engine {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Gives a tensor's rows only when they are asked for, as random weights are.
class HeldRows final : public RowMaker {
 public:
  HeldRows(std::span<const std::byte> bytes, size_t row_bytes) : bytes_(bytes), row_bytes_(row_bytes) {}
  void make_rows(int64_t first, std::span<std::byte> rows) const override {
    std::ranges::copy(bytes_.subspan(static_cast<size_t>(first) * row_bytes_, rows.size()), rows.begin());
  }

 private:
  std::span<const std::byte> bytes_;
  size_t row_bytes_;
};

/// A source of random tensors, which calls them by longer names.
class TestTensors final : public TensorSource {
 public:
  const TestTensor& add(const std::string& name, std::vector<int64_t> shape, TensorType type = TensorType::kF32) {
    held_.push_back(make_tensor(type, std::move(shape), random_));
    names_.push_back(std::make_unique<std::string>(name));
    held_.back()->tensor.name = *names_.back();
    tensors_.push_back(held_.back()->tensor);
    return *held_.back();
  }
  /// Its rows are made from now on.
  void make_last_rows() {
    const TestTensor& last = *held_.back();
    const auto row_bytes = static_cast<size_t>(tensor_bytes(last.tensor.type, last.tensor.row_length()));
    makers_.push_back(std::make_unique<HeldRows>(last.bytes, row_bytes));
    tensors_.back().data = {};
    tensors_.back().maker = makers_.back().get();
  }

  const std::string& path() const override { return path_; }
  std::span<const StoredTensor> tensors() const override { return tensors_; }
  const StoredTensor* find_tensor(std::string_view name) const override {
    const auto found = std::ranges::find(tensors_, name, &StoredTensor::name);
    return found == tensors_.end() ? nullptr : &*found;
  }
  std::string spelling(std::string_view name) const override { return "own:" + std::string(name); }
  void drop_pages() const override { ++drops; }

  mutable int drops = 0;

 private:
  std::string path_ = "m.gguf";
  Random random_{3};
  std::vector<std::unique_ptr<TestTensor>> held_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::unique_ptr<HeldRows>> makers_;
  std::vector<StoredTensor> tensors_;
};

constexpr int64_t kWidth = 64;

ModelConfig small_config() {
  ModelConfig config;
  config.width = kWidth;
  config.head_count = 4;
  config.kv_head_count = 2;
  config.head_dim = 32;
  config.ffn_width = 192;
  config.vocab_size = 10;
  config.layer_count = 1;
  return config;
}

RankTensors make(const TestTensors& source, const ModelConfig& config, const Rank& rank) {
  auto made = RankTensors::make(source, config, rank);
  EXPECT_TRUE(made.ok()) << made.status();
  return std::move(made).value();
}

std::string refusal_of(const TestTensors& source, const ModelConfig& config, const Rank& rank) {
  const auto made = RankTensors::make(source, config, rank);
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

/// All values, read some rows at a time.
std::vector<float> values_of(const StoredTensor& tensor, int64_t rows_at_once = 3) {
  std::vector<float> values(static_cast<size_t>(tensor.row_length() * tensor.row_count()));
  std::vector<std::byte> made;
  for (int64_t row = 0; row < tensor.row_count(); row += rows_at_once) {
    const int64_t count = std::min(rows_at_once, tensor.row_count() - row);
    const std::span<float> to = std::span(values).subspan(static_cast<size_t>(row * tensor.row_length()),
                                                          static_cast<size_t>(count * tensor.row_length()));
    dequantize(tensor.type, tensor.read_rows(row, count, made), to);
  }
  return values;
}

/// Those of a box of a tensor's values.
std::vector<float> box_of(const TestTensor& whole, int64_t column, int64_t columns, int64_t row, int64_t rows) {
  std::vector<float> values;
  for (int64_t r = row; r < row + rows; ++r) {
    const auto begin = whole.values.begin() + r * whole.tensor.row_length() + column;
    values.insert(values.end(), begin, begin + columns);
  }
  return values;
}

std::vector<TensorType> all_types() {
  std::vector<TensorType> types = {TensorType::kF32, TensorType::kF16, TensorType::kBf16};
  types.insert(types.end(), std::begin(kQuantizedTypes), std::end(kQuantizedTypes));
  return types;
}

TEST(RankTensors, HaveARunOfRowsOfWhatMakesHeadsAndFeedForward) {
  ModelConfig config = small_config();
  config.width = 256;
  for (const TensorType type : all_types()) {
    SCOPED_TRACE(tensor_type_name(type));
    TestTensors source;
    const TestTensor& query = source.add("blk.0.attn_q.weight", {256, 128}, type);
    const TestTensor& value = source.add("blk.0.attn_v.weight", {256, 64}, type);
    source.add("blk.0.ffn_gate.weight", {256, 192}, type);
    const TestTensor& up = source.add("blk.0.ffn_up.weight", {256, 192}, type);
    source.make_last_rows();
    const RankTensors second = make(source, config, {.index = 1, .count = 2});
    const StoredTensor& part = *second.find_tensor("blk.0.attn_q.weight");
    EXPECT_THAT(part.shape, ElementsAre(256, 64));
    EXPECT_EQ(values_of(part), box_of(query, 0, 256, 64, 64));
    EXPECT_EQ(values_of(*second.find_tensor("blk.0.attn_v.weight")), box_of(value, 0, 256, 32, 32));
    EXPECT_EQ(values_of(*second.find_tensor("blk.0.ffn_up.weight")), box_of(up, 0, 256, 96, 96));
  }
}

TEST(RankTensors, HaveARunOfColumnsOfWhatIsAddedToTheResidual) {
  ModelConfig config = small_config();
  config.head_dim = 192;
  config.ffn_width = 1536;
  for (const TensorType type : all_types()) {
    SCOPED_TRACE(tensor_type_name(type));
    TestTensors source;
    const TestTensor& out = source.add("blk.0.attn_output.weight", {768, kWidth}, type);
    const TestTensor& down = source.add("blk.0.ffn_down.weight", {1536, kWidth}, type);
    source.make_last_rows();
    config.head_count = config.kv_head_count = 3;
    config.head_dim = 256;
    const RankTensors last = make(source, config, {.index = 2, .count = 3});
    const StoredTensor& part = *last.find_tensor("blk.0.attn_output.weight");
    EXPECT_THAT(part.shape, ElementsAre(256, kWidth));
    EXPECT_EQ(values_of(part), box_of(out, 512, 256, 0, kWidth));
    EXPECT_EQ(values_of(*last.find_tensor("blk.0.ffn_down.weight")), box_of(down, 1024, 512, 0, kWidth));
  }
}

TEST(RankTensors, RefuseToCutABlock) {
  ModelConfig config = small_config();
  for (const TensorType type : kQuantizedTypes) {
    SCOPED_TRACE(tensor_type_name(type));
    const int64_t block = traits_of(type).block_elements;
    TestTensors source;
    source.add("blk.0.attn_output.weight", {128, kWidth});
    source.add("blk.0.ffn_down.weight", {3 * block, kWidth}, type);
    config.ffn_width = static_cast<int32_t>(3 * block);
    EXPECT_THAT(refusal_of(source, config, {.index = 0, .count = 2}),
                AllOf(HasSubstr("m.gguf: tensor own:blk.0.ffn_down.weight has rows of " + std::to_string(3 * block)),
                      HasSubstr("blocks of " + std::to_string(block) + " (" + tensor_type_name(type)),
                      HasSubstr("into 2 equal runs"), HasSubstr("engine.tensor_parallel")));
  }
}

TEST(RankTensors, HaveARunOfBiases) {
  TestTensors source;
  const TestTensor& query = source.add("blk.0.attn_q.bias", {128}, TensorType::kBf16);
  const TestTensor& key = source.add("blk.0.attn_k.bias", {64});
  const RankTensors second = make(source, small_config(), {.index = 1, .count = 2});
  WeightPicker weights(second);
  EXPECT_EQ(weights.take_vector("blk.0.attn_q.bias", 64).value(), box_of(query, 64, 64, 0, 1));
  EXPECT_EQ(weights.take_vector("blk.0.attn_k.bias", 32).value(), box_of(key, 32, 32, 0, 1));
}

TEST(RankTensors, HaveTheRestWhole) {
  TestTensors source;
  for (const char* const name : {"token_embd.weight", "output.weight"}) source.add(name, {kWidth, 10});
  for (const char* const name : {"blk.0.attn_norm.weight", "blk.0.attn_q_norm.weight", "blk.0.attn_output.bias",
                                 "blk.0.unheard_of", "blk.", "blk.0"}) {
    source.add(name, {5});
  }
  const RankTensors first = make(source, small_config(), {.index = 0, .count = 2});
  ASSERT_EQ(first.tensors().size(), source.tensors().size());
  for (size_t i = 0; i < first.tensors().size(); ++i) {
    EXPECT_EQ(first.tensors()[i].name, source.tensors()[i].name);
    EXPECT_EQ(first.tensors()[i].data.data(), source.tensors()[i].data.data());
    EXPECT_EQ(first.tensors()[i].shape, source.tensors()[i].shape);
  }
}

TEST(RankTensors, HaveRowsAndColumnsOfEveryExpert) {
  ModelConfig config = small_config();
  config.experts = {.count = 3, .per_token = 2, .ffn_width = 64};
  for (const TensorType type : {TensorType::kF32, TensorType::kQ4_0}) {
    TestTensors source;
    const TestTensor& up = source.add("blk.0.ffn_up_exps.weight", {kWidth, 64, 3}, type);
    const TestTensor& down = source.add("blk.0.ffn_down_exps.weight", {64, kWidth, 3}, type);
    const TestTensor& gate = source.add("blk.0.ffn_gate.2.weight", {kWidth, 64}, type);
    const RankTensors second = make(source, config, {.index = 1, .count = 2});
    const StoredTensor& ups = *second.find_tensor("blk.0.ffn_up_exps.weight");
    const StoredTensor& downs = *second.find_tensor("blk.0.ffn_down_exps.weight");
    EXPECT_THAT(ups.shape, ElementsAre(kWidth, 32, 3));
    EXPECT_THAT(downs.shape, ElementsAre(32, kWidth, 3));
    for (int64_t expert = 0; expert < 3; ++expert) {
      EXPECT_EQ(values_of(ups.rows(expert * 32, 32), 5), box_of(up, 0, kWidth, expert * 64 + 32, 32));
      EXPECT_EQ(values_of(downs.rows(expert * kWidth, kWidth), 5), box_of(down, 32, 32, expert * kWidth, kWidth));
    }
    EXPECT_EQ(values_of(*second.find_tensor("blk.0.ffn_gate.2.weight")), box_of(gate, 0, kWidth, 32, 32));
  }
}

TEST(RankTensors, TakeApartWhatAFileKeepsInOne) {
  TestTensors source;
  const TestTensor& qkv = source.add("blk.0.attn_qkv.weight", {kWidth, 256}, TensorType::kQ8_0);
  const TestTensor& gate_up = source.add("blk.0.ffn_up.weight", {kWidth, 384});
  const RankTensors second = make(source, small_config(), {.index = 1, .count = 2});
  EXPECT_EQ(second.find_tensor("blk.0.attn_qkv.weight"), nullptr);
  EXPECT_EQ(values_of(*second.find_tensor("blk.0.attn_q.weight")), box_of(qkv, 0, kWidth, 64, 64));
  EXPECT_EQ(values_of(*second.find_tensor("blk.0.attn_k.weight")), box_of(qkv, 0, kWidth, 128 + 32, 32));
  EXPECT_EQ(values_of(*second.find_tensor("blk.0.attn_v.weight")), box_of(qkv, 0, kWidth, 192 + 32, 32));
  EXPECT_EQ(values_of(*second.find_tensor("blk.0.ffn_gate.weight")), box_of(gate_up, 0, kWidth, 96, 96));
  EXPECT_EQ(values_of(*second.find_tensor("blk.0.ffn_up.weight")), box_of(gate_up, 0, kWidth, 192 + 96, 96));
  EXPECT_EQ(second.spelling("blk.0.attn_k.weight"), "own:blk.0.attn_qkv.weight");
  EXPECT_EQ(second.spelling("blk.0.ffn_gate.weight"), "own:blk.0.ffn_up.weight");
}

TEST(RankTensors, RefuseAMatrixThatIsThereTwice) {
  TestTensors source;
  source.add("blk.0.attn_k.weight", {kWidth, 64});
  source.add("blk.0.attn_qkv.weight", {kWidth, 256});
  EXPECT_EQ(refusal_of(source, small_config(), {.index = 0, .count = 2}),
            "m.gguf: tensor own:blk.0.attn_qkv.weight holds blk.0.attn_k.weight, which the file has already");
}

TEST(RankTensors, NameATensorOfAnotherShape) {
  const Rank first{.index = 0, .count = 2};
  const auto refusal = [&](const std::string& name, const std::vector<int64_t>& shape) {
    TestTensors source;
    source.add(name, shape);
    return refusal_of(source, small_config(), first);
  };
  EXPECT_EQ(refusal("blk.0.attn_q.weight", {kWidth, 64}),
            "m.gguf: tensor own:blk.0.attn_q.weight has shape [64, 64], the model's metadata ask for [64, 128]");
  EXPECT_THAT(refusal("blk.0.attn_output.weight", {128}), HasSubstr("has shape [128], "));
  EXPECT_THAT(refusal("blk.0.attn_q.bias", {128, 1}), HasSubstr("has shape [128, 1], "));
  EXPECT_THAT(refusal("blk.0.attn_qkv.weight", {kWidth, 255}), HasSubstr("ask for [64, 256]"));
  EXPECT_THAT(refusal("blk.0.ffn_up.weight", {kWidth, 192}), HasSubstr("ask for [64, 384]"));
}

TEST(RankTensors, AreNamedAsTheFilesSpellThemWhenNobodyAskedForThem) {
  TestTensors source;
  source.add("blk.0.attn_q.weight", {kWidth, 128});
  source.add("blk.1.attn_k.weight", {kWidth, 64});
  source.add("blk.0.extra", {3});
  const RankTensors first = make(source, small_config(), {.index = 0, .count = 2});
  WeightPicker weights(first);
  ASSERT_TRUE(weights.take("blk.0.attn_q.weight", {kWidth, 64}).ok());
  EXPECT_THAT(weights.left_over(), ElementsAre("own:blk.1.attn_k.weight", "own:blk.0.extra"));
  EXPECT_EQ(weights.take("blk.0.attn_v.weight", {kWidth, 32}).status().message(),
            "m.gguf: tensor own:blk.0.attn_v.weight is missing");
  weights.drop_pages(0);
  EXPECT_EQ(source.drops, 1);
}

}  // namespace
}  // namespace sluice::engine
