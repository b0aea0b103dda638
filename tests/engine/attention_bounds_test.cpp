#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/cpu/cpu_isa.h"
#include "engine/cpu/kernels.h"

namespace sluice::engine::cpu {
namespace {

/// Zeroed bytes that end where memory that nobody may read begins.
class GuardedBytes {
 public:
  explicit GuardedBytes(size_t size) : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    const size_t whole = (size + page_ - 1) / page_ * page_;
    mapped_ = whole + page_;
    start_ =
        static_cast<std::byte*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    EXPECT_NE(static_cast<void*>(start_), MAP_FAILED);
    EXPECT_EQ(mprotect(start_ + whole, page_, PROT_NONE), 0);
    data_ = start_ + whole - size;
  }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  ~GuardedBytes() { munmap(start_, mapped_); }

  const std::byte* data() const { return data_; }

 private:
  const size_t page_;
  size_t mapped_ = 0;
  std::byte* start_ = nullptr;
  std::byte* data_ = nullptr;
};

class AttentionBounds : public ::testing::TestWithParam<CpuIsa> {};

TEST_P(AttentionBounds, HeadsOfAnySizeAreReadNoFurtherThanTheCacheGoes) {
  constexpr int32_t kBlock = 16;
  const Kernels& kernels = kernels_for(GetParam());
  for (const int32_t head_dim : {4, 8, 12, 16, 24, 40, 64}) {
    SCOPED_TRACE(head_dim);
    const auto block_bytes = static_cast<int64_t>(sizeof(uint16_t)) * 2 * kBlock * head_dim;
    const GuardedBytes cache(static_cast<size_t>(block_bytes));
    const int32_t block_id = 0;
    const std::vector<float> query(static_cast<size_t>(head_dim), 1.0F);
    std::vector<float> out(query.size(), 1.0F);
    std::vector<float> scratch(static_cast<size_t>(attend_scratch_floats(1, head_dim)) + 16);
    kernels.f16.attend({.cache = cache.data(),
                        .block_bytes = block_bytes,
                        .block_ids = &block_id,
                        .block_size = kBlock,
                        .head_dim = head_dim,
                        .group = 1,
                        .token_count = 1,
                        .first_position = kBlock - 1,
                        .scale = 1,
                        .queries = query.data(),
                        .query_stride = head_dim,
                        .out = out.data(),
                        .out_stride = head_dim,
                        .scratch = scratch.data()});
    EXPECT_EQ(out, std::vector<float>(query.size(), 0.0F));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, AttentionBounds, ::testing::ValuesIn(available_cpu_isas()),
                         [](const auto& param) { return std::string(cpu_isa_name(param.param)); });

}  // namespace
}  // namespace sluice::engine::cpu
