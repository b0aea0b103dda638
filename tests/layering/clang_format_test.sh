#!/usr/bin/env bash
# Every tracked C++ file is laid out as .clang-format says. Mend with: clang-format -i FILE
set -euo pipefail
git ls-files -z '*.cpp' '*.h' | xargs -0 -r clang-format --dry-run -Werror
