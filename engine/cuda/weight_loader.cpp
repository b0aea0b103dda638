#include "engine/cuda/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cuda/piece_queue.h"
#include "engine/cuda/weight_conversion.h"
#include "engine/tensor_type.h"

namespace sluice::engine::cuda {
namespace {

struct PinnedBuffer {
  HostBuffer memory;
  std::unique_ptr<DeviceEvent> emptied;  ///< reached when the device has copied what is in it
};

/// The bytes of a piece that lies in no file, in `room`.
std::span<const std::byte> copy_unfiled(const WeightPiece& piece, std::span<std::byte> room,
                                        std::vector<std::byte>& made) {
  const StoredTensor& tensor = piece.fragments.front().copy->tensor;
  const int64_t row_bytes = tensor_bytes(tensor.type, tensor.row_length());
  const int64_t first_row = piece.begin / row_bytes;
  const int64_t end_row = (piece.begin + piece.bytes - 1) / row_bytes + 1;
  const auto rows = tensor.read_rows(first_row, end_row - first_row, made);
  const auto bytes =
      rows.subspan(static_cast<size_t>(piece.begin - first_row * row_bytes), static_cast<size_t>(piece.bytes));
  std::memcpy(room.data(), bytes.data(), bytes.size());
  return room.first(bytes.size());
}

/// One load.
class WeightLoad {
 public:
  WeightLoad(Device& device, Element element, std::vector<WeightPiece> pieces)
      : device_(device), element_(element), pieces_(std::move(pieces)) {
    for (const WeightPiece& piece : pieces_) {
      for (const WeightFragment& fragment : piece.fragments) unread_ += fragment.bytes;
    }
  }

  /// Makes as many buffers, and the memory that conversions take.
  Status prepare(size_t buffers);
  Status run(size_t threads, const FileReaderOptions& reading, const UnreadWatch& watch);

 private:
  void fill_pieces(PieceQueue& queue, const FileReaderOptions& reading) const;
  Status empty_pieces(PieceQueue& queue, const UnreadWatch& watch);
  Status empty(const PieceQueue::Filled& filled);
  Status copy(const WeightFragment& fragment, const std::byte* bytes);

  Device& device_;
  const Element element_;
  const std::vector<WeightPiece> pieces_;
  std::vector<PinnedBuffer> buffers_;
  DeviceBuffer stored_;  // a fragment as the files have it, until it is converted
  int64_t unread_ = 0;   // bytes of fragments
};

Status WeightLoad::prepare(size_t buffers) {
  int64_t piece_bytes = 0;
  int64_t converted_bytes = 0;
  for (const WeightPiece& piece : pieces_) {
    piece_bytes = std::max(piece_bytes, piece.bytes);
    for (const WeightFragment& fragment : piece.fragments) {
      if (is_stored_as(fragment.copy->tensor.type, element_)) continue;
      converted_bytes = std::max(converted_bytes, fragment.bytes);
    }
  }
  if (converted_bytes > 0) {
    SLUICE_ASSIGN_OR_RETURN(stored_, DeviceBuffer::allocate(device_, converted_bytes, "weights to be converted"));
  }
  for (size_t i = 0; i < buffers; ++i) {
    PinnedBuffer& buffer = buffers_.emplace_back();
    SLUICE_ASSIGN_OR_RETURN(buffer.memory,
                            HostBuffer::allocate(device_, FileReader::room_for(piece_bytes), "reading weights"));
    SLUICE_ASSIGN_OR_RETURN(buffer.emptied, device_.make_event());
  }
  return {};
}

Status WeightLoad::run(size_t threads, const FileReaderOptions& reading, const UnreadWatch& watch) {
  PieceQueue queue(pieces_.size(), buffers_.size());
  Status status;
  {
    std::vector<std::jthread> readers;
    for (size_t i = 0; i < threads; ++i) readers.emplace_back([&] { fill_pieces(queue, reading); });
    status = empty_pieces(queue, watch);
    queue.close();
  }
  // After a failure too: the device may still read the buffers.
  const Status done = device_.synchronize();
  return status.ok() ? done : status;
}

void WeightLoad::fill_pieces(PieceQueue& queue, const FileReaderOptions& reading) const {
  FileReader reader(reading);
  std::vector<std::byte> made;
  while (const auto work = queue.claim()) {
    const WeightPiece& piece = pieces_[work->piece];
    const HostBuffer& memory = buffers_[work->buffer].memory;
    const std::span<std::byte> room(memory.as<std::byte>(), static_cast<size_t>(memory.bytes()));
    if (piece.file == nullptr) {
      queue.give({.work = *work, .bytes = copy_unfiled(piece, room, made)});
      continue;
    }
    const auto read = reader.read(*piece.file, piece.begin, piece.bytes, room);
    if (!read.ok()) return queue.fail(read.status());
    queue.give({.work = *work, .bytes = *read});
  }
}

// Waits for the device only while nothing new has been read, so that it never runs out of copies for want of a call. A
// copy takes less time than a read, so a buffer comes back before a thread misses it.
Status WeightLoad::empty_pieces(PieceQueue& queue, const UnreadWatch& watch) {
  std::deque<size_t> in_flight;  // buffers
  for (size_t taken = 0; taken < pieces_.size();) {
    SLUICE_ASSIGN_OR_RETURN(const auto filled, queue.take(in_flight.empty()));
    if (!filled) {
      SLUICE_RETURN_IF_ERROR(device_.wait(*buffers_[in_flight.front()].emptied));
      queue.release(in_flight.front());
      in_flight.pop_front();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(empty(*filled));
    in_flight.push_back(filled->work.buffer);
    ++taken;
    watch(unread_);
  }
  return {};
}

Status WeightLoad::empty(const PieceQueue::Filled& filled) {
  for (const WeightFragment& fragment : pieces_[filled.work.piece].fragments) {
    SLUICE_RETURN_IF_ERROR(copy(fragment, filled.bytes.data() + fragment.place));
    unread_ -= fragment.bytes;
  }
  return device_.record(*buffers_[filled.work.buffer].emptied);
}

// One place for what is to be converted is enough: the device does one thing after the other, and converts a piece in a
// hundredth of the time that it takes to copy it.
Status WeightLoad::copy(const WeightFragment& fragment, const std::byte* bytes) {
  const StoredTensor& tensor = fragment.copy->tensor;
  const TensorTypeTraits traits = traits_of(tensor.type);
  const int64_t first = fragment.first_byte / traits.block_bytes * traits.block_elements;
  std::byte* const to = fragment.copy->to + first * element_bytes(element_);
  if (is_stored_as(tensor.type, element_)) return device_.enqueue_copy_in(to, bytes, fragment.bytes);
  SLUICE_RETURN_IF_ERROR(device_.enqueue_copy_in(stored_.as<void>(), bytes, fragment.bytes));
  const StoredElements stored{.type = tensor.type,
                              .data = stored_.as<void>(),
                              .count = fragment.bytes / traits.block_bytes * traits.block_elements};
  const int32_t code = launch_weight_conversion(stored, element_, to, device_.stream());
  if (code == 0) return {};
  return internal_error("converting " + std::string(tensor.name) + ": CUDA error " + std::to_string(code));
}

}  // namespace

Status load_weights(Device& device, Element element, std::span<const WeightCopy> copies,
                    const WeightLoaderOptions& options, const UnreadWatch& watch) {
  std::vector<WeightPiece> pieces = cut_into_pieces(copies, options.piece_bytes);
  const auto cores = static_cast<int32_t>(std::max(std::thread::hardware_concurrency(), 1U));
  const auto threads = std::min(pieces.size(), static_cast<size_t>(std::clamp(options.threads, 1, cores)));
  const size_t buffers = std::min(pieces.size(), 2 * threads);
  WeightLoad load(device, element, std::move(pieces));
  SLUICE_RETURN_IF_ERROR(load.prepare(buffers));
  return load.run(threads, options.reading, watch);
}

}  // namespace sluice::engine::cuda
