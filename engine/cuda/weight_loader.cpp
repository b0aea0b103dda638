#include "engine/cuda/weight_loader.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/cuda/device_row_maker.h"
#include "engine/cuda/fragment_placer.h"
#include "engine/cuda/piece_queue.h"
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
  WeightLoad(Device& device, Element element, const WeightLoaderOptions& options, const UnreadWatch& watch)
      : device_(device), options_(options), watch_(watch), placer_(device, element) {}

  Status run(std::span<const WeightCopy> copies);

 private:
  Status make(std::span<const WeightPiece> pieces);
  Status read(std::span<const WeightPiece> pieces);
  Status prepare_buffers(std::span<const WeightPiece> pieces, size_t count);
  void fill_pieces(PieceQueue& queue, std::span<const WeightPiece> pieces) const;
  Status empty_pieces(PieceQueue& queue, std::span<const WeightPiece> pieces);
  Status empty(const PieceQueue::Filled& filled, const WeightPiece& piece);
  Status place(const WeightFragment& fragment);

  Device& device_;
  const WeightLoaderOptions& options_;
  const UnreadWatch& watch_;
  FragmentPlacer placer_;
  DeviceRowMaker row_maker_{device_};
  std::vector<PinnedBuffer> buffers_;
  int64_t unread_ = 0;  // bytes of tensors
};

Status WeightLoad::run(std::span<const WeightCopy> copies) {
  std::vector<WeightCopy> made;
  std::vector<WeightCopy> read_copies;
  for (const WeightCopy& copy : copies) {
    const RowMaker* const maker = copy.tensor.maker;
    (maker != nullptr && maker->recipe() ? made : read_copies).push_back(copy);
    unread_ += copy.tensor.bytes();
  }
  const auto made_pieces = cut_into_pieces(made, options_.piece_bytes);
  const auto read_pieces = cut_into_pieces(read_copies, options_.piece_bytes);
  SLUICE_RETURN_IF_ERROR(placer_.prepare(made_pieces));
  SLUICE_RETURN_IF_ERROR(placer_.prepare(read_pieces));
  Status status = make(made_pieces);
  if (status.ok()) status = read(read_pieces);
  // After a failure too: the device may still read the buffers.
  const Status done = device_.synchronize();
  return status.ok() ? done : status;
}

Status WeightLoad::make(std::span<const WeightPiece> pieces) {
  for (const WeightPiece& piece : pieces) {
    const WeightFragment& fragment = piece.fragments.front();
    const StoredTensor& tensor = fragment.copy->tensor;
    const RandomRecipe recipe = *tensor.maker->recipe();
    const int64_t first_byte = tensor.first_made_row * recipe.row_bytes + fragment.first_byte;
    SLUICE_RETURN_IF_ERROR(row_maker_.make(recipe, first_byte, fragment.bytes, placer_.room(fragment)));
    SLUICE_RETURN_IF_ERROR(place(fragment));
    watch_(unread_);
  }
  return {};
}

Status WeightLoad::place(const WeightFragment& fragment) {
  unread_ -= fragment.bytes;
  return placer_.place(fragment);
}

Status WeightLoad::read(std::span<const WeightPiece> pieces) {
  const auto cores = static_cast<int32_t>(std::max(std::thread::hardware_concurrency(), 1U));
  const auto threads = std::min(pieces.size(), static_cast<size_t>(std::clamp(options_.threads, 1, cores)));
  SLUICE_RETURN_IF_ERROR(prepare_buffers(pieces, std::min(pieces.size(), 2 * threads)));
  PieceQueue queue(pieces.size(), buffers_.size());
  std::vector<std::jthread> readers;
  for (size_t i = 0; i < threads; ++i) readers.emplace_back([&] { fill_pieces(queue, pieces); });
  const Status status = empty_pieces(queue, pieces);
  queue.close();
  return status;
}

Status WeightLoad::prepare_buffers(std::span<const WeightPiece> pieces, size_t count) {
  int64_t bytes = 0;
  for (const WeightPiece& piece : pieces) bytes = std::max(bytes, FileReader::room_for(piece.bytes));
  for (size_t i = 0; i < count; ++i) {
    PinnedBuffer& buffer = buffers_.emplace_back();
    SLUICE_ASSIGN_OR_RETURN(buffer.memory, HostBuffer::allocate(device_, bytes, "reading weights"));
    SLUICE_ASSIGN_OR_RETURN(buffer.emptied, device_.make_event());
  }
  return {};
}

void WeightLoad::fill_pieces(PieceQueue& queue, std::span<const WeightPiece> pieces) const {
  FileReader reader(options_.reading);
  std::vector<std::byte> made;
  while (const auto work = queue.claim()) {
    const WeightPiece& piece = pieces[work->piece];
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
Status WeightLoad::empty_pieces(PieceQueue& queue, std::span<const WeightPiece> pieces) {
  std::deque<size_t> in_flight;  // buffers
  for (size_t taken = 0; taken < pieces.size();) {
    SLUICE_ASSIGN_OR_RETURN(const auto filled, queue.take(in_flight.empty()));
    if (!filled) {
      SLUICE_RETURN_IF_ERROR(device_.wait(*buffers_[in_flight.front()].emptied));
      queue.release(in_flight.front());
      in_flight.pop_front();
      continue;
    }
    SLUICE_RETURN_IF_ERROR(empty(*filled, pieces[filled->work.piece]));
    in_flight.push_back(filled->work.buffer);
    ++taken;
    watch_(unread_);
  }
  return {};
}

Status WeightLoad::empty(const PieceQueue::Filled& filled, const WeightPiece& piece) {
  for (const WeightFragment& fragment : piece.fragments) {
    const std::byte* const bytes = filled.bytes.data() + fragment.place;
    SLUICE_RETURN_IF_ERROR(device_.enqueue_copy_in(placer_.room(fragment), bytes, fragment.bytes));
    SLUICE_RETURN_IF_ERROR(place(fragment));
  }
  return device_.record(*buffers_[filled.work.buffer].emptied);
}

}  // namespace

Status load_weights(Device& device, Element element, std::span<const WeightCopy> copies,
                    const WeightLoaderOptions& options, const UnreadWatch& watch) {
  if (copies.empty()) return {};
  return WeightLoad(device, element, options, watch).run(copies);
}

}  // namespace sluice::engine::cuda
