#include "engine/cuda/weight_pieces.h"

#include <algorithm>
#include <string>
#include <tuple>

#include "base/check.h"
#include "engine/mapped_file.h"

namespace sluice::engine::cuda {
namespace {

/// Bytes of no tensor that are read along rather than to begin another piece behind them.
constexpr int64_t kGapBytesMax = int64_t{64} << 10;

/// Where a tensor's bytes begin: in its file, or of themselves.
int64_t position(const StoredTensor& tensor) {
  return tensor.file == nullptr ? 0 : tensor.data.data() - tensor.file->bytes().data();
}

/// By files, which have names in the order of their numbers, and by position; what lies in none comes last.
bool is_before(const WeightCopy* a, const WeightCopy* b) {
  const auto key = [](const WeightCopy* copy) {
    const MappedFile* file = copy->tensor.file;
    return std::tuple(file == nullptr, file == nullptr ? std::string() : file->path(), file, position(copy->tensor));
  };
  return key(a) < key(b);
}

/// What fragments are multiples of, but for a tensor's last: whole blocks, and groups of eight elements, which kernels
/// write at once.
int64_t unit_bytes(TensorType type) {
  constexpr int32_t kGroup = 8;
  const TensorTypeTraits traits = traits_of(type);
  return traits.block_bytes * (traits.block_elements % kGroup == 0 ? 1 : kGroup);
}

/// Whether what lies at `begin` of the tensor's file, at least `unit` bytes, may still come into the piece.
bool takes(const WeightPiece& piece, const StoredTensor& tensor, int64_t begin, int64_t unit, int64_t piece_bytes) {
  return tensor.file != nullptr && piece.file == tensor.file && begin >= piece.begin &&
         begin - (piece.begin + piece.bytes) <= kGapBytesMax && begin + unit <= piece.begin + piece_bytes;
}

void add_fragments(const WeightCopy& copy, int64_t piece_bytes, std::vector<WeightPiece>& pieces) {
  const StoredTensor& tensor = copy.tensor;
  const int64_t unit = unit_bytes(tensor.type);
  const int64_t size = tensor.bytes();
  for (int64_t at = 0; at < size;) {
    const int64_t begin = position(tensor) + at;
    if (pieces.empty() || !takes(pieces.back(), tensor, begin, unit, piece_bytes)) {
      pieces.push_back({.file = tensor.file, .begin = begin, .bytes = 0, .fragments = {}});
    }
    WeightPiece& piece = pieces.back();
    const int64_t place = begin - piece.begin;
    const int64_t bytes = std::min((piece_bytes - place) / unit * unit, size - at);
    piece.fragments.push_back({.copy = &copy, .first_byte = at, .bytes = bytes, .place = place});
    piece.bytes = std::max(piece.bytes, place + bytes);
    at += bytes;
  }
}

}  // namespace

std::vector<WeightPiece> cut_into_pieces(std::span<const WeightCopy> copies, int64_t piece_bytes) {
  SLUICE_CHECK(piece_bytes >= kPieceBytesMin);
  std::vector<const WeightCopy*> sorted;
  for (const WeightCopy& copy : copies) sorted.push_back(&copy);
  std::ranges::stable_sort(sorted, is_before);
  std::vector<WeightPiece> pieces;
  for (const WeightCopy* copy : sorted) add_fragments(*copy, piece_bytes, pieces);
  return pieces;
}

}  // namespace sluice::engine::cuda
