"""Compiles files with GPU kernels for each generation of devices and prints what each kernel takes.

usage: check_kernels.py NVCC GENERATIONS FILE...      e.g. check_kernels.py nvcc 80,90 engine/cuda/cuda_backend.cpp

Fails on a warning and on a spilled register.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)a?'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")

Kernel = collections.namedtuple("Kernel", "name generation registers stack spilled")


def compile_file(nvcc, generations, path, folder):
    command = [nvcc, "-std=c++20", f"-I{ROOT}", "-Werror", "all-warnings", "-Xcompiler", "-Wall,-Wextra", "-Xptxas", "-v",
               "-x", "cu", "-c", str(path), "-o", f"{folder}/out.o", "--threads", "2"]
    command += ["-diag-suppress", "2810"]  # it takes assigning to a [[nodiscard]] type for ignoring the result
    for generation in generations:
        command += ["-gencode", f"arch=compute_{generation},code=sm_{generation}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{path} does not compile:\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def kernels_in(output):
    """Each entry function's lines follow its name."""
    name = generation = stack = spilled = None
    for line in output.splitlines():
        if match := ENTRY.search(line):
            name, generation = match.groups()
        elif match := SPILLS.search(line):
            stack, stores, loads = map(int, match.groups())
            spilled = stores + loads
        elif (match := USED.search(line)) and name:
            yield Kernel(name, int(generation), int(match.group(1)), stack, spilled)
            name = None


def readable(names):
    """Demangled, without arguments."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    plain = [re.sub(r"\b(sluice|engine|cuda|gpu)::", "", name) for name in done.stdout.splitlines()]
    return dict(zip(names, [re.sub(r"^void |\(.*\)$", "", name) for name in plain]))


def main():
    nvcc, generations, *paths = sys.argv[1:]
    generations = generations.split(",")
    with tempfile.TemporaryDirectory() as folder:
        kernels = [kernel for path in paths for kernel in kernels_in(compile_file(nvcc, generations, path, folder))]
    if not kernels:
        sys.exit("no kernel was found in what nvcc printed")
    by_name = collections.defaultdict(dict)
    for kernel in kernels:
        by_name[kernel.name][kernel.generation] = kernel
    names = readable(list(by_name))
    print("registers on " + ", ".join(f"sm_{generation}" for generation in generations))
    for mangled in sorted(by_name, key=names.get):
        print("  ".join(f"{by_name[mangled][int(g)].registers:4}" for g in generations) + "  " + names[mangled])
    spilling = [kernel for kernel in kernels if kernel.spilled]
    for kernel in spilling:
        print(f"sm_{kernel.generation} spills {kernel.spilled} bytes: {names[kernel.name]}")
    sys.exit(1 if spilling else 0)


if __name__ == "__main__":
    main()
