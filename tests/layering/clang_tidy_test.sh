#!/usr/bin/env bash
# The checks of .clang-tidy on our own sources (not the tests, and not what takes NVIDIA's toolkit to compile).
# usage: clang_tidy_test.sh BUILD-FOLDER
set -euo pipefail
git ls-files -z 'base/*.cpp' 'engine/*.cpp' 'kvcache/*.cpp' 'scheduler/*.cpp' 'server/*.cpp' 'client/*.cpp' \
  'offline/*.cpp' 'cli/*.cpp' 'bench/*.cpp' ':!engine/cuda/toolkit' |
  xargs -0 -r -n 1 -P "$(nproc)" clang-tidy --quiet -p "$1"
