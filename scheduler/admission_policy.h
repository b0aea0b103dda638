#pragma once

#include <optional>
#include <string_view>

namespace sluice::scheduler {

/// Which requests may start; see Admission.
enum class AdmissionPolicy { kReserve, kPlan, kAdaptive };

std::string_view policy_name(AdmissionPolicy policy);
/// Of "reserve", "plan" or "adaptive"; nothing for any other text.
std::optional<AdmissionPolicy> parse_policy(std::string_view name);

}  // namespace sluice::scheduler
