#include "bench/micro/operation_benchmark.h"

#include <string>

#include <benchmark/benchmark.h>

namespace sluice::bench {

namespace {

constexpr double kGiga = 1e9;

/// Work done per second in all of a run's iterations, and its share of a limit.
void report_rate(benchmark::State& state, const char* name, double per_iteration, double limit) {
  const double total = per_iteration * static_cast<double>(state.iterations());
  state.counters[name] = benchmark::Counter(total / kGiga, benchmark::Counter::kIsRate);
  if (limit > 0) {
    state.counters[std::string(name) + "_share"] = benchmark::Counter(total / limit, benchmark::Counter::kIsRate);
  }
}

struct ProductShape {
  const char* name;
  engine::TensorType type;
  int32_t rows;
  int32_t length;
};

constexpr ProductShape kShapes[] = {{"qkv", engine::TensorType::kQ4_1, 960, 576},
                                    {"gate_up", engine::TensorType::kQ4_1, 3072, 576},
                                    {"down", engine::TensorType::kQ4_1, 576, 1536},
                                    {"head", engine::TensorType::kQ8_0, 49152, 576}};

void run_product(benchmark::State& state, const OperationSetting& setting, const ProductShape& shape, int32_t columns) {
  ProductRig rig(setting, shape.type, shape.rows, shape.length, columns);
  rig.multiply();
  for (auto _ : state) rig.multiply();
  report_rate(state, "GB", static_cast<double>(rig.weight_bytes()), setting.limits.read_bytes_per_second);
  report_rate(state, "GMAC", static_cast<double>(shape.rows) * shape.length * columns,
              setting.limits.vector_macs_per_second);
}

void run_attention(benchmark::State& state, const OperationSetting& setting, int32_t rows, int32_t context) {
  AttentionRig rig(setting, rows, context);
  for (auto _ : state) rig.attend();
  report_rate(state, "GB", static_cast<double>(rig.cache_bytes()), setting.limits.read_bytes_per_second);
}

template <typename Run>
void register_one(const std::string& name, const Run& run) {
  benchmark::RegisterBenchmark(name.c_str(), run)->UseRealTime()->Unit(benchmark::kMicrosecond);
}

}  // namespace

void register_operation_benchmarks(const OperationSetting& setting) {
  for (const ProductShape& shape : kShapes) {
    for (const int32_t columns : {1, 8, 32, 512}) {
      register_one(
          std::string("product/") + shape.name + "/columns:" + std::to_string(columns),
          [&setting, shape, columns](benchmark::State& state) { run_product(state, setting, shape, columns); });
    }
  }
  for (const int32_t rows : {1, 8, 32}) {
    for (const int32_t context : {128, 512, 4096}) {
      if (rows * context > 32768) continue;
      register_one(
          "attention/rows:" + std::to_string(rows) + "/context:" + std::to_string(context),
          [&setting, rows, context](benchmark::State& state) { run_attention(state, setting, rows, context); });
    }
  }
}

}  // namespace sluice::bench
