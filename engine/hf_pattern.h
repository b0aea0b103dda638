#pragma once

#include "base/status.h"
#include "engine/hf_value.h"
#include "engine/text_pattern.h"

namespace sluice::engine {

/// The member "pattern" of a component, {"String": …} or {"Regex": …}.
Result<TextPattern> hf_pattern(const HfValue& component);

}  // namespace sluice::engine
