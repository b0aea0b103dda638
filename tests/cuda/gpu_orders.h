#pragma once

#include <string>

#include <gtest/gtest.h>

#include "engine/cuda/gpu.h"
#include "engine/cuda/simt/simt_order.h"

namespace sluice::gpu {

/// A test that runs once in each order that a simulated grid may run in:
///
///   class MyKernel : public OrderedTest {};
///   TEST_P(MyKernel, Claim) { launch<my_kernel>({.grid = {2}, .block = {32}, .stream = stream()}, ...); }
///   INSTANTIATE_TEST_SUITE_P(Orders, MyKernel, testing::ValuesIn(simt::all_orders()), order_name);
class OrderedTest : public testing::TestWithParam<simt::Order> {
 protected:
  void* stream() { return &stream_; }

 private:
  simt::Stream stream_{GetParam()};
};

inline std::string order_name(const testing::TestParamInfo<simt::Order>& info) {
  switch (info.param.kind) {
    case simt::Order::Kind::kForward:
      return "Forward";
    case simt::Order::Kind::kReverse:
      return "Reverse";
    case simt::Order::Kind::kShuffled:
      return "Shuffled" + std::to_string(info.param.seed);
  }
  return "";
}

}  // namespace sluice::gpu
