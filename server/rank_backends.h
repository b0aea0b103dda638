#pragma once

#include "base/clock.h"
#include "base/status.h"
#include "engine/rank_backends.h"
#include "server/config.h"

namespace sluice::server {

/// What the configured number of ranks computes on, one or more. Ranks of the CPU share its threads, one each at least,
/// and as many each, as all wait for the slowest.
Result<engine::RankBackends> open_rank_backends(const EngineSection& engine, const Clock& clock);

}  // namespace sluice::server
