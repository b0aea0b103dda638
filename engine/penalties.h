#pragma once

#include <span>

#include "engine/batch.h"
#include "engine/sampler.h"

namespace sluice::engine {

/// The logits after repetition, presence and frequency penalties and bias: `logits` itself when none of them is on,
/// otherwise scratch.adjusted. Results stay finite. Formulas: repetition as in CTRL (Keskar et al. 2019), presence and
/// frequency as in the OpenAI API.
std::span<const float> adjusted_logits(std::span<const float> logits, const SampleRow& row, SamplerScratch& scratch);

}  // namespace sluice::engine
