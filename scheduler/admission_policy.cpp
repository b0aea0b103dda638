#include "scheduler/admission_policy.h"

#include <array>
#include <utility>

namespace sluice::scheduler {
namespace {

constexpr std::array kPolicyNames = {std::pair{AdmissionPolicy::kReserve, std::string_view("reserve")},
                                     std::pair{AdmissionPolicy::kPlan, std::string_view("plan")},
                                     std::pair{AdmissionPolicy::kAdaptive, std::string_view("adaptive")}};

}  // namespace

std::string_view policy_name(AdmissionPolicy policy) {
  for (const auto& [known, name] : kPolicyNames) {
    if (known == policy) return name;
  }
  return {};
}

std::optional<AdmissionPolicy> parse_policy(std::string_view name) {
  for (const auto& [policy, known] : kPolicyNames) {
    if (known == name) return policy;
  }
  return std::nullopt;
}

}  // namespace sluice::scheduler
