#include "server/outcome.h"

#include "base/check.h"

namespace sluice::server {

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kStop:
      return "stop";
    case Outcome::kLength:
      return "length";
    case Outcome::kCancelled:
      return "cancelled";
    case Outcome::kDeadline:
      return "deadline";
    case Outcome::kError:
      return "error";
    case Outcome::kRefused:
      return "refused";
    case Outcome::kInvalid:
      return "invalid";
  }
  SLUICE_CHECK(false);
}

}  // namespace sluice::server
