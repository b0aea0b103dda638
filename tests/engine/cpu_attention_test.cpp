#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/backend.h"
#include "engine/cpu/cpu_backend.h"
#include "engine/cpu/cpu_isa.h"
#include "tests/engine/backend_batch.h"

namespace sluice::engine {
namespace {

/// What attention is tried with.
struct AttentionCase {
  int32_t group = 1;
  int32_t block_size = 16;
  KvType type = KvType::kF16;
  int32_t head_dim = 16;
  int32_t rope_dim = 16;
  bool is_pairwise = true;
  int32_t window = 0;  ///< 0: none
  bool has_norms = false;
};

/// All three layers in one group, with a window or without.
LayerGroups groups_of(const AttentionCase& test) {
  LayerGroups groups = LayerGroups::one_group(3);
  if (test.window > 0) std::swap(groups.full_groups, groups.window_groups);
  return groups;
}

class BackendAttention : public ::testing::TestWithParam<std::tuple<CpuIsa, AttentionCase>> {
 protected:
  static constexpr int32_t kKvHeads = 2;
  static constexpr int32_t kBlocksTokens = 512;
  static constexpr int32_t kLayer = 1;
  static constexpr double kRopeBase = 100.0;
  static constexpr float kEpsilon = 1e-5F;

  void SetUp() override {
    backend_ = make_cpu_backend({.threads = 2, .isa = std::string(cpu_isa_name(std::get<0>(GetParam())))}).value();
    const KvLayout layout{.groups = groups_of(case_),
                          .kv_head_count = kKvHeads,
                          .head_dim = case_.head_dim,
                          .block_size = case_.block_size,
                          .type = case_.type,
                          .window = case_.window};
    ASSERT_TRUE(backend_->add_cache(layout, kBlocksTokens / case_.block_size).ok());
    qkv_ = backend_->add_activation(kBlocksTokens, qkv_width()).value();
    out_ = backend_->add_activation(kBlocksTokens, out_width()).value();
    if (case_.has_norms) {
      query_weight_ = random_.floats(case_.head_dim);
      key_weight_ = random_.floats(case_.head_dim);
      query_norm_ = {backend_->add_vector(query_weight_).value(), kEpsilon};
      key_norm_ = {backend_->add_vector(key_weight_).value(), kEpsilon};
    }
    rope_ = backend_->add_rope({rope_frequencies({.base = kRopeBase}, case_.rope_dim), case_.is_pairwise});
  }

  int32_t head_count() const { return case_.group * kKvHeads; }
  int32_t qkv_width() const { return (head_count() + 2 * kKvHeads) * case_.head_dim; }
  int32_t out_width() const { return head_count() * case_.head_dim; }

  /// The first `decode_rows` rows are of drawn tokens.
  std::vector<float> attend(const std::vector<RowSlice>& rows, const std::vector<float>& qkv, int32_t decode_rows = 0) {
    Batch batch = make_batch(rows, case_.block_size);
    batch.decode_rows = decode_rows;
    backend_->write(qkv_, qkv);
    backend_->begin_step(batch);
    backend_->attend(out_, qkv_, {kLayer, head_count(), rope_, 0.5F, query_norm_, key_norm_});
    std::vector<float> result(static_cast<size_t>(batch.token_count() * out_width()));
    backend_->read(out_, result);
    return result;
  }

  /// The head, normalised with `weight` unless that is empty, and turned.
  std::vector<double> turned(const float* source, const std::vector<float>& weight, int32_t position) const {
    std::vector<double> head(source, source + case_.head_dim);
    double squares = 0;
    for (const double x : head) squares += x * x;
    for (size_t d = 0; d < weight.size(); ++d) {
      head[d] *= double{weight[d]} / std::sqrt(squares / case_.head_dim + double{kEpsilon});
    }
    std::vector<double> result = head;
    for (int32_t i = 0; i < case_.rope_dim / 2; ++i) {
      const auto first = static_cast<size_t>(case_.is_pairwise ? 2 * i : i);
      const auto second = static_cast<size_t>(case_.is_pairwise ? 2 * i + 1 : i + case_.rope_dim / 2);
      const double angle = position * std::pow(kRopeBase, -2.0 * i / case_.rope_dim);
      result[first] = head[first] * std::cos(angle) - head[second] * std::sin(angle);
      result[second] = head[first] * std::sin(angle) + head[second] * std::cos(angle);
    }
    return result;
  }

  /// Attention of the last token of a whole sequence [tokens, qkv_width].
  std::vector<double> expected(const std::vector<float>& qkv, int32_t position, int32_t head) const {
    const int32_t dim = case_.head_dim;
    const int32_t kv_head = head / case_.group;
    const auto at = [&](int32_t token, int32_t which) {
      return &qkv[static_cast<size_t>(token * qkv_width() + which * dim)];
    };
    const std::vector<double> query = turned(at(position, head), query_weight_, position);
    std::vector<double> result(static_cast<size_t>(dim));
    double total = 0;
    const int32_t first = case_.window > 0 ? std::max(0, position - case_.window + 1) : 0;
    for (int32_t token = first; token <= position; ++token) {
      const std::vector<double> key = turned(at(token, head_count() + kv_head), key_weight_, token);
      double score = 0;
      for (size_t d = 0; d < key.size(); ++d) score += query[d] * key[d];
      const double weight = std::exp(0.5 * score);
      const float* value = at(token, head_count() + kKvHeads + kv_head);
      for (size_t d = 0; d < key.size(); ++d) result[d] += weight * double{value[d]};
      total += weight;
    }
    for (double& x : result) x /= total;
    return result;
  }

  /// Some blocks of the pool, in no order.
  RowSlice row_of(int32_t tokens, int32_t first_block) const {
    RowSlice row{.blocks = {}, .first_position = 0, .count = tokens};
    for (int32_t i = 0; i < (tokens + case_.block_size - 1) / case_.block_size; ++i)
      row.blocks.push_back(first_block + i);
    std::reverse(row.blocks.begin(), row.blocks.end());
    return row;
  }

  const AttentionCase case_ = std::get<1>(GetParam());
  Random random_{7};
  std::unique_ptr<Backend> backend_;
  ActivationId qkv_;
  ActivationId out_;
  RopeId rope_;
  std::vector<float> query_weight_;
  std::vector<float> key_weight_;
  RmsNorm query_norm_;
  RmsNorm key_norm_;
};

TEST_P(BackendAttention, MatchesTheReferenceThroughShuffledBlocks) {
  const RowSlice first = row_of(71, 256 / case_.block_size);
  const RowSlice second = row_of(9, 0);
  const std::vector<float> qkv = random_.floats(80 * qkv_width());
  const std::vector<float> second_qkv(qkv.begin() + 71 * qkv_width(), qkv.end());
  const std::vector<float> got = attend({first, second}, qkv);
  const double allowed = case_.type == KvType::kF16 && std::get<0>(GetParam()) != CpuIsa::kAmx ? 2e-3 : 1.5e-2;
  for (int32_t token = 0; token < 80; ++token) {
    for (int32_t head = 0; head < head_count(); ++head) {
      const auto wanted = token < 71 ? expected(qkv, token, head) : expected(second_qkv, token - 71, head);
      for (int32_t d = 0; d < case_.head_dim; ++d) {
        const auto at = static_cast<size_t>(token * out_width() + head * case_.head_dim + d);
        ASSERT_NEAR(got[at], wanted[static_cast<size_t>(d)], allowed) << token << ' ' << head << ' ' << d;
      }
    }
  }
}

// One row, so the context is shared out over the threads; and many, so it is not.
TEST_P(BackendAttention, GivesADrawnTokenTheSameBitsAloneAndInACrowd) {
  constexpr int32_t kTokens = 201;
  const std::vector<float> qkv = random_.floats(kTokens * qkv_width());
  attend({row_of(kTokens, 0)}, qkv);
  RowSlice row = row_of(kTokens, 0);
  row.first_position = kTokens - 1;
  row.count = 1;
  const std::vector<float> last(qkv.end() - qkv_width(), qkv.end());
  const std::vector<float> alone = attend({row}, last, 1);
  for (int32_t head = 0; head < head_count(); ++head) {
    const std::vector<double> wanted = expected(qkv, kTokens - 1, head);
    for (int32_t d = 0; d < case_.head_dim; ++d) {
      ASSERT_NEAR(alone[static_cast<size_t>(head * case_.head_dim + d)], wanted[static_cast<size_t>(d)],
                  case_.type == KvType::kF16 ? 2e-3 : 1.5e-2);
    }
  }
  std::vector<float> crowd_qkv;
  for (int32_t i = 0; i < 20; ++i) crowd_qkv.insert(crowd_qkv.end(), last.begin(), last.end());
  const std::vector<float> crowd = attend(std::vector<RowSlice>(20, row), crowd_qkv, 20);
  for (int32_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(std::equal(alone.begin(), alone.end(), crowd.begin() + i * out_width())) << i;
  }
}

TEST_P(BackendAttention, GivesTheSameBitsWholeInChunksAndTokenByToken) {
  constexpr int32_t kTokens = 201;
  const std::vector<float> qkv = random_.floats(kTokens * qkv_width());
  const std::vector<float> whole = attend({row_of(kTokens, 0)}, qkv);
  for (const int32_t chunk : {1, 5, 50}) {
    RowSlice row = row_of(kTokens, 256 / case_.block_size);
    for (int32_t begin = 0; begin < kTokens; begin += chunk) {
      row.first_position = begin;
      row.count = std::min(chunk, kTokens - begin);
      const auto from = qkv.begin() + begin * qkv_width();
      const std::vector<float> got = attend({row}, {from, from + row.count * qkv_width()});
      ASSERT_TRUE(std::equal(got.begin(), got.end(), whole.begin() + begin * out_width())) << chunk << " at " << begin;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BackendAttention,
    ::testing::Combine(
        ::testing::ValuesIn(available_cpu_isas()),
        ::testing::Values(AttentionCase{.group = 1}, AttentionCase{.group = 3, .block_size = 4},
                          AttentionCase{.group = 4, .type = KvType::kBf16},
                          AttentionCase{.group = 3, .type = KvType::kF32},
                          AttentionCase{.group = 3, .type = KvType::kInt8, .head_dim = 64},
                          AttentionCase{.group = 2, .block_size = 8, .type = KvType::kInt8},
                          AttentionCase{.group = 1, .block_size = 128, .head_dim = 32},
                          AttentionCase{.group = 3, .head_dim = 64, .rope_dim = 64},
                          AttentionCase{.group = 2, .block_size = 32, .head_dim = 24, .rope_dim = 8},
                          AttentionCase{.group = 3, .type = KvType::kBf16, .is_pairwise = false},
                          AttentionCase{.group = 2, .has_norms = true}, AttentionCase{.group = 3, .window = 1},
                          AttentionCase{.group = 1, .block_size = 4, .window = 7, .has_norms = true},
                          AttentionCase{.group = 2, .head_dim = 32, .rope_dim = 32, .window = 24},
                          AttentionCase{.group = 4, .head_dim = 64, .window = 128},
                          AttentionCase{.group = 3, .type = KvType::kInt8, .head_dim = 32, .window = 150},
                          AttentionCase{.group = 1, .head_dim = 32, .window = 33})));

}  // namespace
}  // namespace sluice::engine
