#!/usr/bin/env bash
# Checks and measures Sluice on a machine with a GPU, in under 8 minutes; what each part found is in $OUT/device_check.json.
#
# usage: bench/device_check.sh [OPTION]...      bench/device_check.sh --help tells which; none is needed
# $OUT is a folder, build/device_check/out if it isn't set. A part that fails doesn't keep the others from running; the exit code is 0 if none failed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root"
export PYTHONDONTWRITEBYTECODE=1
exec python3 bench/device_check/check.py --out "${OUT:-build/device_check/out}" "$@"
