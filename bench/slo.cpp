#include "bench/slo.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>
#include <utility>

#include "bench/parse_time.h"

namespace sluice::bench {
namespace {

using Member = std::optional<Duration> Slo::*;
constexpr std::array<std::pair<std::string_view, Member>, 4> kMembers{
    {{"ttft", &Slo::ttft}, {"tpot", &Slo::tpot}, {"itl", &Slo::itl}, {"e2e", &Slo::e2e}}};

Status read_part(std::string_view part, Slo& slo) {
  const size_t equals = part.find('=');
  const std::string_view name = part.substr(0, equals);
  for (const auto& [known, member] : kMembers) {
    if (name != known || equals == std::string_view::npos) continue;
    if (slo.*member) return invalid_argument("'" + std::string(name) + "' is given twice");
    SLUICE_ASSIGN_OR_RETURN(slo.*member, parse_time(part.substr(equals + 1)));
    return {};
  }
  return invalid_argument("'" + std::string(part) + "' is none of ttft=, tpot=, itl= and e2e= with a time");
}

}  // namespace

bool Slo::is_met_by(const AnswerTiming& timing) const {
  if (ttft && (!timing.ttft || *timing.ttft > *ttft)) return false;
  if (tpot && timing.tpot && *timing.tpot > *tpot) return false;
  if (itl && std::any_of(timing.gaps.begin(), timing.gaps.end(), [&](Duration gap) { return gap > *itl; }))
    return false;
  return !e2e || timing.end_to_end <= *e2e;
}

std::string Slo::text() const {
  std::ostringstream text;
  for (const auto& [name, member] : kMembers) {
    if (!(this->*member)) continue;
    text << (text.tellp() > 0 ? "," : "") << name << '=' << to_milliseconds(*(this->*member)) << "ms";
  }
  return text.str();
}

Result<Slo> parse_slo(const std::string& text) {
  Slo slo;
  for (std::string_view rest = text; true;) {
    const size_t comma = rest.find(',');
    SLUICE_RETURN_IF_ERROR(read_part(rest.substr(0, comma), slo));
    if (comma == std::string_view::npos) return slo;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace sluice::bench
