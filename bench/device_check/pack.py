"""Packs what bench/device_check.sh runs, so that it can go to a machine with a GPU on which Sluice can't be built: build/device_check/programs.tar.xz.

usage: python3 bench/device_check/pack.py      after cmake --build --preset cuda. That machine has a C library as new as this one's, and CUDA's libraries.
"""

import pathlib
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

from collect_programs import Missing, collect  # noqa: E402

PROGRAMS = ("sluiced", "sluice-bench", "libsluice_cuda.so", "cuda_device_tests", "cuda_reference_tests", "cuda_ceilings")
# The C and C++ libraries of two systems don't mix within a process, and those of CUDA are half a gigabyte.
WITHOUT = ("libc.so", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so", "libstdc++.so", "libgcc_s.so", "libcuda", "libcublas")


def main():
    archive = ROOT / "build/device_check/programs.tar.xz"
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            collect([ROOT / "build/cuda/bin" / name for name in PROGRAMS], folder, WITHOUT)
        except Missing as why:
            sys.exit(f"{why}; cmake --preset cuda && cmake --build --preset cuda makes the programs")
        with tarfile.open(archive, "w:xz", preset=6) as tar:
            for part in ("bin", "lib"):
                tar.add(pathlib.Path(folder) / part, part)
    print(f"{archive}: {archive.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
