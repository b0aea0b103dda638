#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"
#include "engine/backend.h"
#include "engine/cuda/device.h"
#include "engine/cuda/weight_pieces.h"
#include "engine/file_reader.h"

namespace sluice::engine::cuda {

struct WeightLoaderOptions {
  int32_t threads = 4;                     ///< that read, if there are as many cores
  int64_t piece_bytes = int64_t{8} << 20;  ///< read and copied at once; there are two pinned buffers for each thread
  FileReaderOptions reading = {};
};

/// Brings tensors to a device, as `element`s but where a copy keeps its bytes: threads read pieces in the files' order
/// into pinned memory while the device copies those before them. What the files have in another form than the device
/// goes there as it is and is converted there, and rows that a device can make are made there, so this machine's cores
/// do nothing but read. The device is used by the caller's thread alone.
///
/// Returns when all is there or something fails; then what the device has of it is undefined. A failure to read names
/// the file. `watch` is told on the caller's thread.
Status load_weights(Device& device, Element element, std::span<const WeightCopy> copies,
                    const WeightLoaderOptions& options, const UnreadWatch& watch);

}  // namespace sluice::engine::cuda
