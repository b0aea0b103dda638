#include "engine/tensor_check.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <string>
#include <thread>
#include <vector>

namespace sluice::engine {
namespace {

constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
constexpr int64_t kRowsAtOnce = 64;

/// What a row is read into; each thread has its own.
struct RowRoom {
  std::vector<std::byte> made;
  std::vector<float> values;  // [row_length]
};

bool is_row_finite(const StoredTensor& tensor, int64_t row, RowRoom& room) {
  dequantize(tensor.type, tensor.read_rows(row, 1, room.made), room.values);
  return std::ranges::all_of(room.values, [](float value) { return std::isfinite(value); });
}

/// The first row with a value that isn't finite; kNone when there is none.
int64_t first_bad_row(const StoredTensor& tensor, int32_t threads) {
  std::atomic<int64_t> next = 0;
  std::atomic<int64_t> bad = kNone;
  const auto work = [&] {
    RowRoom room{.made = {}, .values = std::vector<float>(static_cast<size_t>(tensor.row_length()))};
    while (true) {
      const int64_t begin = next.fetch_add(kRowsAtOnce);
      // Rows before a bad one are still looked at by whoever has claimed them.
      if (begin >= std::min(tensor.row_count(), bad.load())) return;
      for (int64_t row = begin; row < std::min(begin + kRowsAtOnce, tensor.row_count()); ++row) {
        if (is_row_finite(tensor, row, room)) continue;
        for (int64_t seen = bad.load(); row < seen && !bad.compare_exchange_weak(seen, row);) continue;
        break;
      }
    }
  };
  const auto helpers = std::min<int64_t>(threads, (tensor.row_count() + kRowsAtOnce - 1) / kRowsAtOnce) - 1;
  std::vector<std::thread> pool;
  for (int64_t i = 0; i < helpers; ++i) pool.emplace_back(work);
  work();
  for (std::thread& thread : pool) thread.join();
  return bad.load();
}

}  // namespace

std::map<TensorType, TensorTypeTotal> tensor_totals(const TensorSource& source) {
  std::map<TensorType, TensorTypeTotal> totals;
  for (const StoredTensor& tensor : source.tensors()) {
    TensorTypeTotal& total = totals[tensor.type];
    ++total.tensors;
    total.elements += tensor.row_length() * tensor.row_count();
    total.bytes += tensor.bytes();
  }
  return totals;
}

Status check_tensor_values(const TensorSource& source, int32_t threads) {
  for (const StoredTensor& tensor : source.tensors()) {
    const int64_t row = first_bad_row(tensor, threads);
    source.drop_pages();
    if (row == kNone) continue;
    return invalid_argument(source.path() + ": tensor " + source.spelling(tensor.name) + " has a value in row " +
                            std::to_string(row) + " that is not a finite number; is the file damaged?");
  }
  return Status();
}

}  // namespace sluice::engine
