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

/// A matrix larger than the caches' second level, of each type, in a shape that all types can have.
constexpr engine::TensorType kTypes[] = {
    engine::TensorType::kQ4_0,  engine::TensorType::kQ4_1, engine::TensorType::kQ5_0,  engine::TensorType::kQ5_1,
    engine::TensorType::kQ8_0,  engine::TensorType::kQ2_K, engine::TensorType::kQ3_K,  engine::TensorType::kQ4_K,
    engine::TensorType::kQ5_K,  engine::TensorType::kQ6_K, engine::TensorType::kIq4Nl, engine::TensorType::kIq4Xs,
    engine::TensorType::kMxfp4, engine::TensorType::kBf16, engine::TensorType::kF16,   engine::TensorType::kF32};
constexpr int32_t kTypeRows = 4096;
constexpr int32_t kTypeLength = 2048;

void run_product(benchmark::State& state, const OperationSetting& setting, const ProductShape& shape, int32_t columns) {
  ProductRig rig(setting, shape.type, shape.rows, shape.length, columns);
  rig.multiply();
  for (auto _ : state) rig.multiply();
  report_rate(state, "GB", static_cast<double>(rig.weight_bytes()), setting.limits.read_bytes_per_second);
  state.counters["bits"] =
      8.0 * static_cast<double>(rig.weight_bytes()) / (static_cast<double>(shape.rows) * shape.length);
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

void register_products(const OperationSetting& setting, const std::string& name, const ProductShape& shape) {
  for (const int32_t columns : {1, 8, 32, 512}) {
    register_one(name + "/columns:" + std::to_string(columns),
                 [&setting, shape, columns](benchmark::State& state) { run_product(state, setting, shape, columns); });
  }
}

}  // namespace

void register_operation_benchmarks(const OperationSetting& setting) {
  for (const ProductShape& shape : kShapes) register_products(setting, std::string("product/") + shape.name, shape);
  for (const engine::TensorType type : kTypes) {
    const std::string name = engine::tensor_type_name(type);
    register_products(setting, "type/" + name, {"", type, kTypeRows, kTypeLength});
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
