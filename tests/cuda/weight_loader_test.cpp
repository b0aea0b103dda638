#include "engine/cuda/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/cuda/host_device.h"
#include "engine/quant_scheme.h"
#include "engine/random_rows.h"
#include "tests/cuda/failing_device.h"
#include "tests/cuda/rows_of_the_host.h"
#include "tests/cuda/tensor_file.h"

namespace sluice::engine::cuda {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kRoomy = int64_t{256} << 20;
constexpr Element kElements[] = {Element::kBf16, Element::kF32};

/// Small, so that a small file makes many pieces.
const WeightLoaderOptions kSmall{.threads = 2, .piece_bytes = kPieceBytesMin};

/// The tensor as a device is to have it, from the numbers that its format defines.
std::vector<std::byte> expected_bytes(const StoredTensor& tensor, Element element) {
  std::vector<std::byte> made;
  std::vector<float> values(static_cast<size_t>(tensor.row_length() * tensor.row_count()));
  dequantize(tensor.type, tensor.read_rows(0, tensor.row_count(), made), values);
  const auto bytes = [](const auto& numbers) {
    const auto span = std::as_bytes(std::span(numbers));
    return std::vector<std::byte>(span.begin(), span.end());
  };
  if (element == Element::kF32) return bytes(values);
  std::vector<uint16_t> halves(values.size());
  std::ranges::transform(values, halves.begin(), float_to_bf16);
  return bytes(halves);
}

/// Memory of a device for some tensors, and what is to be loaded into it.
class LoadTargets {
 public:
  LoadTargets(Device& device, Element element) : device_(device), element_(element) {}

  void add(const StoredTensor& tensor) {
    const int64_t bytes = tensor.row_length() * tensor.row_count() * element_bytes(element_);
    buffers_.push_back(DeviceBuffer::allocate(device_, bytes, "a test").value());
    copies_.push_back({.tensor = tensor, .to = buffers_.back().as<std::byte>()});
  }
  void add_all(const TensorFile& file) {
    for (const StoredTensor& tensor : file.tensors()) add(tensor);
  }

  Status load(
      const WeightLoaderOptions& options, const UnreadWatch& watch = [](int64_t) {}) {
    return load_weights(device_, element_, copies_, options, watch);
  }

  Status load_through(Device& device, const WeightLoaderOptions& options) {
    return load_weights(device, element_, copies_, options, [](int64_t) {});
  }

  void expect_loaded() {
    for (const WeightCopy& copy : copies_) {
      SCOPED_TRACE(tensor_type_name(copy.tensor.type));
      const auto expected = expected_bytes(copy.tensor, element_);
      std::vector<std::byte> got(expected.size());
      ASSERT_TRUE(device_.copy_out(got.data(), copy.to, static_cast<int64_t>(got.size())).ok());
      EXPECT_TRUE(got == expected);
    }
  }

  int64_t bytes() const {
    int64_t sum = 0;
    for (const WeightCopy& copy : copies_) sum += copy.tensor.bytes();
    return sum;
  }

 private:
  Device& device_;
  const Element element_;
  std::vector<DeviceBuffer> buffers_;
  std::vector<WeightCopy> copies_;
};

/// A tensor of every type, with rows of odd lengths where there are such, at any distance.
TensorFile file_of_all_types() {
  TensorFile file(3);
  for (const TensorType type : kQuantizedTypes) file.add(type, traits_of(type).block_elements * int64_t{3}, 5, 3);
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16}) {
    file.add(type, 37, 41, 1);
    file.add(type, 1, 1, 2);
  }
  return file;
}

TEST(WeightLoader, LoadsEveryTypeBitForBit) {
  for (const Element element : kElements) {
    const TemporaryFolder folder;
    TensorFile file = file_of_all_types();
    file.map(folder, "file");
    for (const int64_t piece_bytes : {kPieceBytesMin, int64_t{1} << 20}) {
      HostDevice device(kRoomy);
      LoadTargets targets(device, element);
      targets.add_all(file);
      ASSERT_TRUE(targets.load({.threads = 2, .piece_bytes = piece_bytes}).ok());
      targets.expect_loaded();
      EXPECT_EQ(device.host_bytes(), 0);
    }
  }
}

TEST(WeightLoader, ReadsByEveryWay) {
  const TemporaryFolder folder;
  TensorFile file = file_of_all_types();
  file.map(folder, "file");
  for (const bool uses_cache : {false, true}) {
    for (const bool is_direct : {false, true}) {
      HostDevice device(kRoomy);
      LoadTargets targets(device, Element::kBf16);
      targets.add_all(file);
      ASSERT_TRUE(targets.load({.threads = 2, .piece_bytes = 5000, .reading = {uses_cache, is_direct}}).ok());
      targets.expect_loaded();
    }
  }
}

TEST(WeightLoader, LoadsTheSameWithAnyNumberOfThreads) {
  const TemporaryFolder folder;
  TensorFile file(1);
  file.add(TensorType::kBf16, 500, 100);
  file.add(TensorType::kQ4_0, 512, 20);
  file.map(folder, "file");
  for (const int32_t threads : {-1, 0, 1, 2, 1000}) {
    HostDevice device(kRoomy);
    LoadTargets targets(device, Element::kBf16);
    targets.add_all(file);
    ASSERT_TRUE(targets.load({.threads = threads, .piece_bytes = kPieceBytesMin}).ok());
    targets.expect_loaded();
  }
}

// The simulated device copies as late as it may, so a buffer that is filled too early shows in what is there.
TEST(WeightLoader, LoadsMoreThanItsBuffersHoldInBoundedMemory) {
  const TemporaryFolder folder;
  TensorFile file(1);
  file.add(TensorType::kBf16, 1000, 300);  // 600 kB, through four buffers of 2 kB
  file.add(TensorType::kF16, 1001, 30);
  file.map(folder, "file");
  HostDevice device(kRoomy);
  LoadTargets targets(device, Element::kBf16);
  targets.add_all(file);
  const int64_t used = device.memory().total - device.memory().free;
  int64_t pinned_max = 0;
  int64_t staged_max = 0;
  ASSERT_TRUE(targets
                  .load(kSmall,
                        [&](int64_t) {
                          pinned_max = std::max(pinned_max, device.host_bytes());
                          staged_max = std::max(staged_max, device.memory().total - device.memory().free - used);
                        })
                  .ok());
  targets.expect_loaded();
  EXPECT_GT(pinned_max, 0);
  EXPECT_LE(pinned_max, 2 * kSmall.threads * FileReader::room_for(kPieceBytesMin));
  EXPECT_GT(staged_max, 0);
  EXPECT_LE(staged_max, kPieceBytesMin);
  EXPECT_EQ(device.host_bytes(), 0);
  EXPECT_EQ(device.memory().total - device.memory().free, used);
}

TEST(WeightLoader, ReadsShardsThatAreAskedForInAnyOrder) {
  const TemporaryFolder folder;
  TensorFile files[] = {TensorFile(1), TensorFile(2), TensorFile(3)};
  HostDevice device(kRoomy);
  LoadTargets targets(device, Element::kBf16);
  for (size_t i = 0; i < std::size(files); ++i) {
    files[i].add(TensorType::kBf16, 100, 50);
    files[i].add(TensorType::kQ8_0, 64, 33, 100);
    files[i].map(folder, "model-" + std::to_string(i));
  }
  for (const size_t tensor : {size_t{1}, size_t{0}}) {
    for (const size_t file : {size_t{2}, size_t{0}, size_t{1}}) targets.add(files[file].tensors()[tensor]);
  }
  ASSERT_TRUE(targets.load(kSmall).ok());
  targets.expect_loaded();
}

TEST(WeightLoader, CopiesWhatLiesInNoFile) {
  std::vector<std::byte> bytes(static_cast<size_t>(6000));
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i % 61);
  for (const Element element : kElements) {
    HostDevice device(kRoomy);
    LoadTargets targets(device, element);
    targets.add({.name = "float", .type = TensorType::kF32, .shape = {500, 3}, .data = bytes});
    targets.add({.name = "half", .type = TensorType::kBf16, .shape = {3, 1000}, .data = bytes});
    ASSERT_TRUE(targets.load(kSmall).ok());
    targets.expect_loaded();
  }
}

// A row may be longer than a piece, and a piece may begin amid a row.
TEST(WeightLoader, MakesRowsOfAnyLength) {
  for (const TensorType type : {TensorType::kF32, TensorType::kF16, TensorType::kBf16, TensorType::kQ6_K}) {
    for (const int64_t length : {int64_t{256}, int64_t{2304}, int64_t{7680}}) {
      const RandomRows rows(type, length, {.mean = 0, .deviation = 0.5}, 7);
      const RowsOfTheHost host_rows(rows);
      HostDevice device(kRoomy);
      LoadTargets targets(device, Element::kBf16);
      for (const RowMaker* maker : {static_cast<const RowMaker*>(&rows), static_cast<const RowMaker*>(&host_rows)}) {
        targets.add({.name = "made", .type = type, .shape = {length, 5}, .data = {}, .maker = maker});
        targets.add(
            {.name = "made", .type = type, .shape = {length, 2}, .data = {}, .maker = maker, .first_made_row = 9});
      }
      std::vector<int64_t> told;
      ASSERT_TRUE(targets.load(kSmall, [&](int64_t unread) { told.push_back(unread); }).ok());
      targets.expect_loaded();
      EXPECT_TRUE(std::ranges::is_sorted(told, std::greater_equal()));
      EXPECT_EQ(told.back(), 0);
    }
  }
}

TEST(WeightLoader, TakesNoPinnedMemoryForRowsThatTheDeviceMakes) {
  const RandomRows rows(TensorType::kQ4_0, 256, {.mean = 0, .deviation = 0.5}, 7);
  HostDevice device(kRoomy);
  LoadTargets targets(device, Element::kBf16);
  targets.add({.name = "made", .type = TensorType::kQ4_0, .shape = {256, 50}, .data = {}, .maker = &rows});
  ASSERT_TRUE(targets.load(kSmall, [&](int64_t) { EXPECT_EQ(device.host_bytes(), 0); }).ok());
  targets.expect_loaded();
}

TEST(WeightLoader, TellsWhatIsUnreadDownToNothing) {
  const TemporaryFolder folder;
  TensorFile file = file_of_all_types();
  file.map(folder, "file");
  HostDevice device(kRoomy);
  LoadTargets targets(device, Element::kBf16);
  targets.add_all(file);
  std::vector<int64_t> told;
  ASSERT_TRUE(targets.load(kSmall, [&](int64_t unread) { told.push_back(unread); }).ok());
  ASSERT_GT(told.size(), 5U);
  EXPECT_LT(told.front(), targets.bytes());
  EXPECT_TRUE(std::ranges::is_sorted(told, std::greater_equal()));  // falls with each
  EXPECT_EQ(told.back(), 0);
}

TEST(WeightLoader, DoesNothingForNothing) {
  HostDevice device(kRoomy);
  LoadTargets targets(device, Element::kBf16);
  EXPECT_TRUE(targets.load({}).ok());
  EXPECT_EQ(device.allocation_count(), 0);
}

TEST(WeightLoader, NamesAFileThatWasCutOffMeanwhile) {
  for (const bool is_direct : {false, true}) {
    const TemporaryFolder folder;
    TensorFile file(1);
    file.add(TensorType::kBf16, 1000, 100);
    file.map(folder, "file");
    HostDevice device(kRoomy);
    LoadTargets targets(device, Element::kBf16);
    targets.add_all(file);
    std::filesystem::resize_file(folder.path_of("file"), 50'000);
    WeightLoaderOptions options = kSmall;
    options.reading = {.uses_cache = false, .is_direct = is_direct};
    const Status failed = targets.load(options);
    EXPECT_EQ(failed.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(failed.message(), HasSubstr(folder.path_of("file") + ": it ends at byte 50000"));
    EXPECT_EQ(device.host_bytes(), 0);
  }
}

// Whichever call fails, the failure is told, no thread is left and all buffers are given back.
TEST(WeightLoader, TellsTheFailureOfAnyCallOfTheDevice) {
  const TemporaryFolder folder;
  TensorFile file(1);
  file.add(TensorType::kBf16, 1000, 4);
  file.add(TensorType::kQ4_0, 512, 4);
  file.map(folder, "file");
  HostDevice host(kRoomy);
  LoadTargets targets(host, Element::kBf16);
  targets.add_all(file);
  const int64_t free_before = host.memory().free;
  int64_t calls = 0;
  for (; calls < 1000; ++calls) {
    FailingDevice device(host, calls);
    const Status status = targets.load_through(device, kSmall);
    EXPECT_EQ(host.host_bytes(), 0);
    EXPECT_EQ(host.memory().free, free_before);
    if (status.ok()) {
      EXPECT_TRUE(device.is_idle());  // pinned memory must not be given back before
      break;
    }
    EXPECT_EQ(status.message(), "the device fell off the bus") << "call " << calls;
  }
  EXPECT_GT(calls, 15);
  EXPECT_LT(calls, 1000);
}

TEST(WeightLoader, NamesWhatTheDeviceHasNoRoomFor) {
  const TemporaryFolder folder;
  TensorFile file(1);
  file.add(TensorType::kF32, 100, 1);
  file.map(folder, "file");
  HostDevice device(200 + 399);  // the matrix, and a byte too few for its stored form
  LoadTargets targets(device, Element::kBf16);
  targets.add_all(file);
  const Status failed = targets.load({});
  EXPECT_EQ(failed.code(), StatusCode::kResourceExhausted);
  EXPECT_THAT(failed.message(), HasSubstr("no 400 bytes of device memory for weights to be converted: 399 of 599"));
}

}  // namespace
}  // namespace sluice::engine::cuda
