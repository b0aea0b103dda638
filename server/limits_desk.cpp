#include "server/limits_desk.h"

#include <string>

#include "server/config_keys.h"
#include "server/config_value.h"

namespace sluice::server {
namespace {

/// "scheduler.max_running 64 -> 32" for each key that differs.
std::string differences(const scheduler::SchedulerConfig& from, const scheduler::SchedulerConfig& to) {
  const auto values = [](const scheduler::SchedulerConfig& limits) {
    Config config;
    config.scheduler = limits;
    std::vector<std::pair<std::string, std::string>> list;
    for_each_key(config, [&](std::string_view section, std::string_view key, const auto& field) {
      if (section == "scheduler")
        list.emplace_back(std::string(section).append(1, '.').append(key), write_value(field));
    });
    return list;
  };
  const auto before = values(from);
  const auto after = values(to);
  std::string text;
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i].second == after[i].second) continue;
    if (!text.empty()) text += ", ";
    text += before[i].first + ' ' + before[i].second + " -> " + after[i].second;
  }
  return text;
}

}  // namespace

scheduler::SchedulerConfig LimitsDesk::current() const {
  const MutexLock lock(mutex_);
  return current_;
}

Status LimitsDesk::apply(std::string_view who, const scheduler::SchedulerConfig& wanted) {
  SLUICE_RETURN_IF_ERROR(at_start_.check_change(wanted));
  const std::string changes = differences(current(), wanted);
  if (changes.empty()) return {};
  mailbox_.post(scheduler::SetLimits{wanted});
  {
    const MutexLock lock(mutex_);
    current_ = wanted;
  }
  logger_.info("limits changed", {{"by", std::string(who)}, {"changes", changes}});
  return {};
}

}  // namespace sluice::server
