#pragma once

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

/// A batch's numbers in device memory, shaped as in Batch, of the last batch that was uploaded. They lie at the same
/// addresses in every step.
class StepInputs {
 public:
  /// The device outlives it.
  explicit StepInputs(Device& device) : device_(device) {}

  Status allocate(const StepRoom& room);
  /// What allocate() takes of the device.
  static int64_t bytes_for(const StepRoom& room) { return Layout(room).bytes; }
  /// Asks for the copies; the batch may change when the call returns. With `padded_tokens` above the batch's, whose
  /// rows then have one token each, tokens of no row are added: they are cached nowhere, and nobody looks at what they
  /// get.
  Status upload(const Batch& batch, int32_t padded_tokens);

  int32_t* token_ids() const { return at(layout_.token_ids); }
  const int32_t* positions() const { return at(layout_.positions); }
  const int32_t* slots(int32_t group) const { return at(layout_.slots) + int64_t{group} * room_.tokens; }
  const int32_t* row_begin() const { return at(layout_.row_begin); }
  const int32_t* table_begin() const { return at(layout_.table_begin); }
  const int32_t* block_ids(int32_t group) const { return at(layout_.block_ids) + group * room_.table_entries; }
  const int32_t* sampled_tokens() const { return at(layout_.sampled_tokens); }  // [samples] SampleRow::token_index
  const int32_t* drawn_before() const { return at(layout_.drawn_before); }      // [decode_rows] as Batch::drawn_before

 private:
  using Numbers = ArrayPlace<int32_t>;

  struct Layout {
    explicit Layout(const StepRoom& room);

    Numbers token_ids;
    Numbers positions;
    Numbers slots;  // [groups][room.tokens]
    Numbers row_begin;
    Numbers table_begin;
    Numbers sampled_tokens;
    Numbers drawn_before;
    Numbers block_ids;  // [groups][room.table_entries], the last of all, and only the used part is copied
    int64_t bytes = 0;
  };

  int32_t* at(const Numbers& place) const { return place.in(memory_.as<void>()); }
  void fill(const Batch& batch, int32_t padded_tokens, void* staged);
  void put_tables(const Batch& batch, void* staged) const;

  Device& device_;
  StepRoom room_;
  Layout layout_{{}};
  DeviceBuffer memory_;
  std::optional<UploadRing> ring_;
  std::vector<int32_t> sampled_;
};

}  // namespace sluice::engine::cuda
