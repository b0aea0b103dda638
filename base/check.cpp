#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace sluice {

void check_failed(const char* condition, const char* file, int line) {
  std::fprintf(stderr, "sluice: broken invariant: %s at %s:%d\n", condition, file, line);
  std::abort();
}

}  // namespace sluice
