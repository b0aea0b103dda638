#include "scheduler/shortage.h"

namespace sluice::scheduler {

std::string_view shortage_name(Shortage shortage) {
  switch (shortage) {
    case Shortage::kNone:
      return "none";
    case Shortage::kKv:
      return "kv";
    case Shortage::kRows:
      return "rows";
    case Shortage::kTenant:
      return "tenant";
    case Shortage::kPrefix:
      return "prefix";
    case Shortage::kOrder:
      return "order";
    case Shortage::kQueue:
      return "queue";
    case Shortage::kDeadline:
      return "deadline";
  }
  return {};
}

}  // namespace sluice::scheduler
