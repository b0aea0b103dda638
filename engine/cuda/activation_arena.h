#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/arena_plan.h"
#include "engine/cuda/device.h"

namespace sluice::engine::cuda {

/// Memory that one operation has for itself.
enum class Scratch {
  kColumns,      ///< what goes into a product
  kNumbers,      ///< a matrix in blocks, as a product takes it, or some rows of it
  kGateUp,       ///< a product of two parts
  kProduct,      ///< a rank's part of a sum
  kQueries,      ///< turned heads
  kPartials,     ///< parts of attention
  kRouting,      ///< which experts tokens take
  kExpertGated,  ///< what goes into the experts' second products
  kExpertRows,   ///< and what comes of them
  kGathered,     ///< rows whose logits are wanted
  kLogits,       ///< of these rows
  kCandidates,   ///< tokens that may be drawn
};

struct ScratchNeed {
  Scratch scratch;
  int64_t bytes = 0;
};

/// What an operation touches.
struct OperationMemory {
  std::initializer_list<ActivationId> uses;    ///< read, and perhaps changed
  std::initializer_list<ActivationId> writes;  ///< given a new meaning
  std::initializer_list<ScratchNeed> scratch;
};

/// All activations and scratch memory of a step, in one piece of device memory that is as large as the operations need
/// it: these are told once, before it is allocated.
class ActivationArena {
 public:
  ActivationArena();

  ActivationId add(int32_t tokens_max, int32_t width);
  /// Tells the next operation of a step.
  void plan(const OperationMemory& memory);
  /// Ends the planning.
  Status allocate(Device& device);

  int64_t bytes() const { return memory_.bytes(); }
  int32_t width(ActivationId id) const { return activation(id).width; }
  /// Tokens that every activation has room for.
  int32_t tokens_max() const { return tokens_max_; }
  // In device memory, after allocate().
  float* data(ActivationId id) const { return at<float>(activation(id).buffer); }
  template <typename T>
  T* scratch(Scratch kind) const {
    return at<T>(scratch_[static_cast<size_t>(kind)]);
  }

 private:
  static constexpr size_t kScratchCount = 12;

  struct Activation {
    int32_t width = 0;
    ArenaPlan::Buffer buffer;  // float [tokens_max, width]
  };

  const Activation& activation(ActivationId id) const { return activations_.at(static_cast<size_t>(id.index)); }
  template <typename T>
  T* at(ArenaPlan::Buffer buffer) const {
    return reinterpret_cast<T*>(memory_.as<std::byte>() + plan_.offset(buffer));
  }

  ArenaPlan plan_;
  std::vector<Activation> activations_;
  std::array<ArenaPlan::Buffer, kScratchCount> scratch_;
  int32_t tokens_max_ = 0;
  DeviceBuffer memory_;
};

}  // namespace sluice::engine::cuda
