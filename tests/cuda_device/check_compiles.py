"""Whether nvcc takes the tests of kernels, which on machines without a device nobody builds with it.

usage: check_compiles.py NVCC FILE...
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def fault_of(nvcc, path):
    """What nvcc says against a file, without code being made of it; empty if it takes it."""
    command = [nvcc, "-std=c++20", f"-I{ROOT}", f"-I{ROOT}/tests/cuda_device", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-diag-suppress", "2810",
               "-DSLUICE_SOURCE_DIR=\".\"", "-x", "cu", "-arch=sm_90", "-fdevice-syntax-only", "-c", path, "-o", "/dev/null"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr or f"nvcc ended with {done.returncode}"


def main():
    nvcc, *paths = sys.argv[1:]
    faults = {path: fault for path in paths if (fault := fault_of(nvcc, path))}
    for path, fault in faults.items():
        print(f"{path} does not compile for a device:\n{fault}")
    sys.exit(1 if faults or not paths else 0)


if __name__ == "__main__":
    main()
