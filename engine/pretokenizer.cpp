#include "engine/pretokenizer.h"

#include <algorithm>

#include "engine/bpe_alphabet.h"

namespace sluice::engine {
namespace {

using Part = TextPattern::Part;

struct Piece {
  std::string_view text;
  bool begins_text = false;
};
using PieceSink = std::function<void(const Piece&)>;

/// Joins two parts that lie side by side in one text.
std::string_view joined(std::string_view left, std::string_view right) {
  return {left.data(), left.size() + right.size()};
}

std::vector<std::string_view> merged_with_previous(const std::vector<Part>& parts) {
  std::vector<std::string_view> pieces;
  bool was_match = false;
  for (const Part& part : parts) {
    const bool joins = part.is_match && !was_match && !pieces.empty();
    if (joins) {
      pieces.back() = joined(pieces.back(), part.text);
    } else {
      pieces.push_back(part.text);
    }
    was_match = part.is_match;
  }
  return pieces;
}

std::vector<std::string_view> merged_with_next(const std::vector<Part>& parts) {
  std::vector<std::string_view> pieces;
  bool was_match = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    const bool joins = part->is_match && !was_match && !pieces.empty();
    if (joins) {
      pieces.back() = joined(part->text, pieces.back());
    } else {
      pieces.push_back(part->text);
    }
    was_match = part->is_match;
  }
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<std::string_view> contiguous(const std::vector<Part>& parts) {
  std::vector<std::string_view> pieces;
  bool was_match = false;
  for (const Part& part : parts) {
    if (!pieces.empty() && part.is_match == was_match) {
      pieces.back() = joined(pieces.back(), part.text);
    } else {
      pieces.push_back(part.text);
    }
    was_match = part.is_match;
  }
  return pieces;
}

std::vector<std::string_view> merge(const std::vector<Part>& parts, SplitBehavior behavior) {
  if (behavior == SplitBehavior::kMergedWithPrevious) return merged_with_previous(parts);
  if (behavior == SplitBehavior::kMergedWithNext) return merged_with_next(parts);
  return contiguous(parts);
}

/// Hands on what is not empty.
void give(std::string_view text, const Piece& whole, const PieceSink& sink) {
  if (text.empty()) return;
  sink({.text = text, .begins_text = whole.begins_text && text.data() == whole.text.data()});
}

Status apply(const Pretokenizer::Split& split, const Piece& piece, const PieceSink& sink) {
  const bool keeps_order = split.behavior == SplitBehavior::kIsolated || split.behavior == SplitBehavior::kRemoved;
  if (keeps_order) {
    const bool leaves_out = split.behavior == SplitBehavior::kRemoved;
    return split.pattern.split(piece.text, [&](const Part& part) {
      if (leaves_out && part.is_match != split.is_inverted) return;
      give(part.text, piece, sink);
    });
  }
  std::vector<Part> parts;
  SLUICE_RETURN_IF_ERROR(split.pattern.split(piece.text, [&](const Part& part) {
    parts.push_back({.text = part.text, .is_match = part.is_match != split.is_inverted});
  }));
  for (const std::string_view text : merge(parts, split.behavior)) give(text, piece, sink);
  return {};
}

Status apply(const Pretokenizer::ReplaceBlanks& replacement, const Piece& piece, const PieceSink& sink) {
  std::string text;
  text.reserve(piece.text.size());
  for (const char c : piece.text) {
    if (c == ' ') {
      text += replacement.by;
    } else {
      text += c;
    }
  }
  sink({.text = text, .begins_text = piece.begins_text});
  return {};
}

bool wants(const Pretokenizer::Prefix& prefix, const Piece& piece) {
  if (prefix.scheme == PrefixScheme::kFirst && !piece.begins_text) return false;
  return prefix.is_unconditional || !piece.text.starts_with(prefix.text);
}

Status apply(const Pretokenizer::Prefix& prefix, const Piece& piece, const PieceSink& sink) {
  if (!wants(prefix, piece)) {
    sink(piece);
    return {};
  }
  const std::string text = prefix.text + std::string(piece.text);
  sink({.text = text, .begins_text = piece.begins_text});
  return {};
}

Status apply(const Pretokenizer::SpellBytes& /*stage*/, const Piece& piece, const PieceSink& sink) {
  const std::string text = spell_bytes(piece.text);
  sink({.text = text, .begins_text = piece.begins_text});
  return {};
}

using Stages = std::vector<Pretokenizer::Stage>;

Status split_from(const Stages& stages, size_t index, const Piece& piece, const Pretokenizer::WordSink& sink) {
  if (index == stages.size()) {
    sink(piece.text);
    return {};
  }
  Status failed;
  const auto on = [&](const Piece& next) {
    if (failed.ok()) failed = split_from(stages, index + 1, next, sink);
  };
  const Status status = std::visit([&](const auto& stage) { return apply(stage, piece, on); }, stages[index]);
  return status.ok() ? failed : status;
}

}  // namespace

Status Pretokenizer::split(std::string_view text, bool begins_text, const WordSink& sink) const {
  if (text.empty()) return {};
  return split_from(stages_, 0, {.text = text, .begins_text = begins_text}, sink);
}

}  // namespace sluice::engine
