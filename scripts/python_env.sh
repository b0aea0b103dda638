#!/usr/bin/env bash
# Makes build/venv with the Python packages of scripts/requirements.txt and prints its path.
# Does nothing when it is there and the list has not changed.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=$root/build/venv
if ! cmp -s "$root/scripts/requirements.txt" "$venv/installed.txt"; then
  echo "==> Python packages for the tests" >&2
  mkdir -p "$root/build"
  /usr/bin/python3 -m venv --clear "$venv" >&2
  "$venv/bin/pip" install --quiet --disable-pip-version-check -r "$root/scripts/requirements.txt" >&2
  cp "$root/scripts/requirements.txt" "$venv/installed.txt"
fi
echo "$venv"
