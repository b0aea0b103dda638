#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "engine/cuda/simt/simt_block.h"
#include "engine/cuda/simt/simt_calls.h"

namespace sluice::gpu::simt {
namespace {

constexpr uint32_t kThreadsMax = 1024;
constexpr uint32_t kBlockDepthMax = 64;
constexpr uint32_t kGridWidthMax = 0x7FFFFFFF;
constexpr uint32_t kGridHeightMax = 0xFFFF;

/// "scale<4>" of "... [with auto kKernel = scale<4>; typename ...".
std::string kernel_name(std::string_view signature) {
  constexpr std::string_view kBefore = "kKernel = ";
  const size_t begin = signature.find(kBefore);
  if (begin == std::string_view::npos) return std::string(signature);
  const std::string_view rest = signature.substr(begin + kBefore.size());
  return std::string(rest.substr(0, std::min(rest.find("; "), rest.find(", Args = "))));
}

void check(bool claim, const char* message, const std::string& kernel) {
  if (!claim) check_failed(message, kernel.c_str(), 0);
}

void check_launch(const Launch& how, const std::string& kernel) {
  const Dim3 grid = how.grid;
  const Dim3 block = how.block;
  check(grid.x > 0 && grid.y > 0 && grid.z > 0, "a grid without blocks", kernel);
  check(grid.x <= kGridWidthMax && grid.y <= kGridHeightMax && grid.z <= kGridHeightMax,
        "a grid over 2147483647 x 65535 x 65535 blocks", kernel);
  check(block.x > 0 && block.y > 0 && block.z > 0, "a block without threads", kernel);
  check(block.x <= kThreadsMax && block.y <= kThreadsMax && block.z <= kBlockDepthMax &&
            block.x * block.y * block.z <= kThreadsMax,
        "a block over 1024 threads, or 64 of them deep", kernel);
  check(how.shared_bytes <= kSharedBytesMax, "shared memory over the 99 KiB that every device has", kernel);
}

Dim3 position(size_t number, Dim3 grid) {
  return {static_cast<uint32_t>(number % grid.x), static_cast<uint32_t>(number / grid.x % grid.y),
          static_cast<uint32_t>(number / grid.x / grid.y)};
}

void run_grid(const Launch& how, Order order, const std::string& kernel, const std::function<void()>& body) {
  OrderSource blocks(order);
  OrderSource threads(order);
  // Kept for the next launch: to map a block's stacks takes longer than to run it.
  thread_local FiberStacks stacks(kThreadsMax);
  Block block(how, kernel, body, stacks);
  for (const size_t number : blocks.sequence(size_t{how.grid.x} * how.grid.y * how.grid.z))
    block.run(position(number, how.grid), threads);
}

}  // namespace

void launch_grid(const Launch& how, const char* signature, std::function<void()> body) {
  std::string kernel = kernel_name(signature);
  check_launch(how, kernel);
  const Stream stream = how.stream == nullptr ? Stream{} : *static_cast<const Stream*>(how.stream);
  if (stream.queue == nullptr) return run_grid(how, stream.order, kernel, body);
  stream.queue->push_back([how, order = stream.order, kernel = std::move(kernel), body = std::move(body)] {
    run_grid(how, order, kernel, body);
  });
}

}  // namespace sluice::gpu::simt
