#pragma once

#include <string>
#include <vector>

#include "bench/compare_rounds.h"

namespace sluice::bench {

/// What was compared, and everything that was measured.
struct ComparedServers {
  std::vector<Contender> contenders;
  std::vector<std::string> servers;          ///< [contender]: what each says of itself
  std::vector<std::vector<Report>> reports;  ///< [contender][round]
  bool has_slo = false;
  std::string load = {};  ///< in words
  std::string command_line = {};
};

std::string compare_text(const ComparedServers& compared);
std::string compare_json(const ComparedServers& compared);
std::string compare_html(const ComparedServers& compared);

}  // namespace sluice::bench
