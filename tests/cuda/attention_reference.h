#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

namespace sluice::engine::cuda {

struct RowSpec {
  int32_t context;  // with its tokens
  int32_t tokens = 1;
  int32_t shared_blocks = 0;  // first entries of the table that are the row before's
};

struct AttentionSpec {
  std::vector<RowSpec> rows;
  int32_t kv_heads = 1;
  int32_t group = 1;
  int32_t head_dim = 64;
  int32_t window = 0;
  int32_t block_size = 16;

  int32_t heads() const { return kv_heads * group; }
};

/// A ragged batch over a paged cache whose blocks come in no order. Slots that no token sees are NaN, and tables name
/// any block before the first token that their row sees.
struct AttentionCase {
  AttentionSpec spec;
  float scale = 0;
  std::vector<int32_t> row_begin{};    // [rows + 1]
  std::vector<int32_t> positions{};    // [tokens]
  std::vector<int32_t> table_begin{};  // [rows + 1]
  std::vector<int32_t> block_ids{};
  std::vector<float> queries{};  // [tokens][heads][head_dim]
  std::vector<float> keys{};     // [blocks][kv_heads][block_size][head_dim]
  std::vector<float> values{};   // the same

  int32_t rows() const { return static_cast<int32_t>(spec.rows.size()); }
  int32_t tokens() const { return row_begin.back(); }
  int32_t first_seen(int32_t position) const { return spec.window > 0 ? std::max(0, position + 1 - spec.window) : 0; }
  /// Index of the first element of a key or a value.
  size_t place(int32_t row, int32_t key, int32_t kv_head) const {
    const int32_t block = block_ids[static_cast<size_t>(table_begin[static_cast<size_t>(row)] + key / spec.block_size)];
    const int64_t vector =
        (static_cast<int64_t>(block) * spec.kv_heads + kv_head) * spec.block_size + key % spec.block_size;
    return static_cast<size_t>(vector * spec.head_dim);
  }
};

namespace detail {

inline void add_rows(AttentionCase& made, std::mt19937& random) {
  const int32_t block_size = made.spec.block_size;
  int32_t blocks = 0;
  for (const RowSpec& row : made.spec.rows) blocks += (row.context + block_size - 1) / block_size;
  std::vector<int32_t> free(static_cast<size_t>(blocks) + 3);
  std::iota(free.begin(), free.end(), 0);
  std::shuffle(free.begin(), free.end(), random);
  made.row_begin = {0};
  made.table_begin = {0};
  for (const RowSpec& row : made.spec.rows) {
    made.row_begin.push_back(made.row_begin.back() + row.tokens);
    for (int32_t i = row.context - row.tokens; i < row.context; ++i) made.positions.push_back(i);
    const size_t before = made.table_begin.size() > 1 ? static_cast<size_t>(made.table_begin.end()[-2]) : 0;
    for (int32_t page = 0; page * block_size < row.context; ++page) {
      const bool is_shared = page < row.shared_blocks;
      made.block_ids.push_back(is_shared ? made.block_ids[before + static_cast<size_t>(page)] : free.back());
      if (!is_shared) free.pop_back();
    }
    made.table_begin.push_back(static_cast<int32_t>(made.block_ids.size()));
  }
}

/// Numbers where a token of a row looks, and any block's id before.
inline void fill_cache(AttentionCase& made, std::mt19937& random) {
  std::normal_distribution<float> normal;
  for (int32_t row = 0; row < made.rows(); ++row) {
    const RowSpec& spec = made.spec.rows[static_cast<size_t>(row)];
    const int32_t seen = made.first_seen(spec.context - spec.tokens);
    for (int32_t key = spec.tokens > 0 ? seen : spec.context; key < spec.context; ++key) {
      for (int32_t head = 0; head < made.spec.kv_heads; ++head) {
        const size_t at = made.place(row, key, head);
        for (size_t i = at; i < at + static_cast<size_t>(made.spec.head_dim); ++i) {
          if (!std::isnan(made.keys[i])) continue;  // of a shared block
          made.keys[i] = normal(random);
          made.values[i] = normal(random);
        }
      }
    }
  }
}

inline void forget_unseen_blocks(AttentionCase& made) {
  for (int32_t row = 0; row < made.rows(); ++row) {
    const RowSpec& spec = made.spec.rows[static_cast<size_t>(row)];
    const int32_t seen = made.first_seen(spec.context - spec.tokens);
    const auto table = static_cast<size_t>(made.table_begin[static_cast<size_t>(row)]);
    for (int32_t page = 0; page < seen / made.spec.block_size; ++page)
      made.block_ids[table + static_cast<size_t>(page)] = 0;
  }
}

}  // namespace detail

/// `rounded` says what is left of a number in the cache, and `rounded_query` of one in a query.
template <typename Rounded, typename RoundedQuery>
AttentionCase make_attention_case(AttentionSpec spec, Rounded rounded, RoundedQuery rounded_query, uint32_t seed = 1) {
  std::mt19937 random(seed);
  AttentionCase made{.spec = std::move(spec)};
  // Scores with a deviation of 2: a few keys get most of the weight, and which they are shows.
  made.scale = 2.0F / std::sqrt(static_cast<float>(made.spec.head_dim));
  detail::add_rows(made, random);
  const int32_t blocks = *std::max_element(made.block_ids.begin(), made.block_ids.end()) + 1;
  const int64_t elements = int64_t{blocks} * made.spec.kv_heads * made.spec.block_size * made.spec.head_dim;
  made.keys.assign(static_cast<size_t>(elements), std::numeric_limits<float>::quiet_NaN());
  made.values = made.keys;
  detail::fill_cache(made, random);
  detail::forget_unseen_blocks(made);
  for (float& key : made.keys) key = rounded(key);
  for (float& value : made.values) value = rounded(value);
  std::normal_distribution<float> normal;
  made.queries.resize(static_cast<size_t>(made.tokens()) * static_cast<size_t>(made.spec.heads() * made.spec.head_dim));
  for (float& query : made.queries) query = rounded_query(normal(random));
  return made;
}

/// Of one query head of one token, in double.
inline void attend_reference(const AttentionCase& of, int32_t row, int32_t token, int32_t head, double* out) {
  const int32_t position = of.positions[static_cast<size_t>(token)];
  const int32_t kv_head = head / of.spec.group;
  const auto head_dim = static_cast<size_t>(of.spec.head_dim);
  const float* query = of.queries.data() + static_cast<size_t>(token * of.spec.heads() + head) * head_dim;
  std::vector<double> weights;
  for (int32_t key = of.first_seen(position); key <= position; ++key) {
    const float* at = of.keys.data() + of.place(row, key, kv_head);
    weights.push_back(of.scale * std::inner_product(query, query + head_dim, at, 0.0));
  }
  const double top = *std::max_element(weights.begin(), weights.end());
  double mass = 0;
  for (double& weight : weights) mass += weight = std::exp(weight - top);
  std::fill_n(out, head_dim, 0.0);
  for (size_t k = 0; k < weights.size(); ++k) {
    const float* at = of.values.data() + of.place(row, of.first_seen(position) + static_cast<int32_t>(k), kv_head);
    for (size_t i = 0; i < head_dim; ++i) out[i] += weights[k] / mass * at[i];
  }
}

/// [tokens][heads][head_dim]
inline std::vector<double> attention_reference(const AttentionCase& of) {
  std::vector<double> out(of.queries.size());
  for (int32_t row = 0; row < of.rows(); ++row)
    for (int32_t token = of.row_begin[static_cast<size_t>(row)]; token < of.row_begin[static_cast<size_t>(row) + 1];
         ++token)
      for (int32_t head = 0; head < of.spec.heads(); ++head)
        attend_reference(
            of, row, token, head,
            &out[static_cast<size_t>(token * of.spec.heads() + head) * static_cast<size_t>(of.spec.head_dim)]);
  return out;
}

}  // namespace sluice::engine::cuda
