#!/usr/bin/env bash
# Installs the Debian packages that are missing. usage: scripts/install_packages.sh [build|test]
#   build  what it takes to build and run the daemon
#   test   the above, and what ./run-tests needs besides
# Does nothing, and needs no rights, when everything is there.
set -euo pipefail

packages=(
  g++ cmake ninja-build pkg-config ca-certificates unzip
  libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc
  libboost-dev libboost-system-dev prometheus-cpp-dev libyaml-cpp-dev nlohmann-json3-dev libcli11-dev
  libpcre2-dev libicu-dev libsodium-dev liburing-dev zlib1g-dev
  python3 python3-venv
)
if [[ "${1:-build}" == test ]]; then
  # Prometheus evaluates the dashboards and alerts, Chromium opens the live page.
  packages+=(libgtest-dev libgmock-dev libbenchmark-dev ccache clang-format clang-tidy prometheus chromium chromium-driver)
fi

missing=()
for package in "${packages[@]}"; do
  if [[ "$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null)" != ii* ]]; then missing+=("$package"); fi
done
if ((${#missing[@]} == 0)); then exit 0; fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "these packages are missing and installing them needs root: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "==> Installing ${#missing[@]} Debian packages: ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
"${as_root[@]}" apt-get update -q
"${as_root[@]}" apt-get install -y -q --no-install-recommends "${missing[@]}"
