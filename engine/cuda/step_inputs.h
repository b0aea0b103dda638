#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "engine/batch.h"
#include "engine/cuda/array_layout.h"
#include "engine/cuda/device.h"
#include "engine/cuda/upload_ring.h"

namespace sluice::engine::cuda {

/// What a step has at most.
struct StepRoom {
  int32_t tokens = 0;  ///< and rows, as each has a token
  int32_t samples = 0;
  int32_t groups = 0;
  int64_t table_entries = 0;  ///< of all rows' block tables, of one group
};

/// A batch's numbers in device memory, shaped as in Batch, of the last batch that was uploaded. All that a step uses of
/// them lies together, so that one copy takes it and nothing else. Addresses follow from the number of tokens, padding
/// included, and from that of samples where there are more: steps of as many find theirs at the same places.
class StepInputs {
 public:
  /// The device outlives it.
  explicit StepInputs(Device& device) : device_(device) {}

  Status allocate(const StepRoom& room);
  /// What allocate() takes of the device.
  static int64_t bytes_for(const StepRoom& room) {
    return Layout(room, room.tokens, room.samples).bytes_with(room.groups * room.table_entries);
  }
  /// Asks for the copy; the batch may change when the call returns. With `padded_tokens` above the batch's, whose rows
  /// then have one token each, tokens of no row are added: they are cached nowhere, and nobody looks at what they get.
  Status upload(const Batch& batch, int32_t padded_tokens);
  /// The addresses are those of a step of so many tokens and at most as many samples, though nothing is uploaded: for
  /// who records one.
  void lay_out(int32_t tokens) { layout_ = Layout(room_, tokens, 0); }

  int32_t* token_ids() const { return at(layout_.token_ids); }
  const int32_t* positions() const { return at(layout_.positions); }
  const int32_t* slots(int32_t group) const { return at(layout_.slots) + int64_t{group} * layout_.tokens; }
  const int32_t* row_begin() const { return at(layout_.row_begin); }
  /// [rows + 1] into block_ids(), where the group's tables begin.
  const int32_t* table_begin(int32_t group) const {
    return at(layout_.table_begin) + int64_t{group} * (layout_.tokens + 1);
  }
  /// Of all groups.
  const int32_t* block_ids() const { return memory_.as<int32_t>() + layout_.head_bytes / kNumberBytes; }
  const int32_t* sampled_tokens() const { return at(layout_.sampled_tokens); }  // [samples] SampleRow::token_index
  const int32_t* drawn_before() const { return at(layout_.drawn_before); }      // [decode_rows] as Batch::drawn_before

 private:
  using Numbers = ArrayPlace<int32_t>;
  static constexpr auto kNumberBytes = static_cast<int64_t>(sizeof(int32_t));

  /// Of a step of `tokens` tokens and as many samples, or more if there are, as far as there is room for samples.
  struct Layout {
    Layout() = default;
    Layout(const StepRoom& room, int32_t tokens, int32_t samples);

    int64_t bytes_with(int64_t block_ids) const { return head_bytes + block_ids * kNumberBytes; }

    int32_t tokens = 0;
    Numbers token_ids;
    Numbers positions;
    Numbers slots;  // [groups][tokens]
    Numbers row_begin;
    Numbers table_begin;  // [groups][tokens + 1]
    Numbers sampled_tokens;
    Numbers drawn_before;
    int64_t head_bytes = 0;  // block ids come after it, those of each group right behind the last one's
  };

  int32_t* at(const Numbers& place) const { return place.in(memory_.as<void>()); }
  void fill(const Batch& batch, std::byte* staged);
  void put_tables(const Batch& batch, std::byte* staged) const;

  Device& device_;
  StepRoom room_;
  Layout layout_;
  DeviceBuffer memory_;
  std::optional<UploadRing> ring_;
  std::vector<int32_t> sampled_;
};

}  // namespace sluice::engine::cuda
