#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/mapped_file.h"
#include "engine/stored_tensor.h"
#include "tests/cuda/random_blocks.h"
#include "tests/engine/temporary_folder.h"

namespace sluice::engine::cuda {

/// A file of tensors of random bytes, mapped.
class TensorFile {
 public:
  explicit TensorFile(uint32_t seed) : random_(seed), bytes_(1 + seed % 7) {}

  /// `gap` bytes of no tensor lie before it.
  void add(TensorType type, int64_t row_length, int64_t rows, int64_t gap = 0) {
    bytes_.insert(bytes_.end(), static_cast<size_t>(gap), std::byte{0x77});
    StoredTensor tensor{.name = names_.emplace_back("t" + std::to_string(names_.size())),
                        .type = type,
                        .shape = {row_length, rows},
                        .data = {}};
    begins_.push_back(bytes_.size());
    const auto stored = random_blocks(type, row_length * rows / traits_of(type).block_elements, random_);
    for (const uint8_t byte : stored) bytes_.push_back(static_cast<std::byte>(byte));
    tensors_.push_back(std::move(tensor));
  }

  void map(const TemporaryFolder& folder, const std::string& name) {
    file_ = MappedFile::open(folder.write(name, bytes_)).value();
    for (size_t i = 0; i < tensors_.size(); ++i) {
      tensors_[i].file = file_.get();
      tensors_[i].data = file_->bytes().subspan(begins_[i], static_cast<size_t>(tensors_[i].bytes()));
    }
  }

  const MappedFile& file() const { return *file_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

 private:
  Random random_;
  std::vector<std::byte> bytes_;
  std::vector<size_t> begins_;
  std::deque<std::string> names_;
  std::vector<StoredTensor> tensors_;
  std::unique_ptr<MappedFile> file_;
};

}  // namespace sluice::engine::cuda
