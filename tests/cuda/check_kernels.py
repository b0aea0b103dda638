"""Compiles files with GPU kernels for each generation of devices and prints what each kernel takes.

usage: check_kernels.py NVCC GENERATIONS FILE...      e.g. check_kernels.py nvcc 80,90 engine/cuda/cuda_backend.cpp

Fails on a warning, on a spilled register, and on a kernel that takes more than its line in kernel_budget.txt allows or has none.
"""

import collections
import fnmatch
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUDGET = pathlib.Path(__file__).resolve().parent / "kernel_budget.txt"

ENTRY = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\d+)a?'")
SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
USED = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")

Kernel = collections.namedtuple("Kernel", "name generation registers shared stack spilled")
Allowance = collections.namedtuple("Allowance", "line pattern registers shared")


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
            shared = SHARED.search(line)
            yield Kernel(name, int(generation), int(match.group(1)), int(shared.group(1)) if shared else 0, stack, spilled)
            name = None


def without_arguments(name):
    """Of a demangled function: what stands before the parentheses that its name ends with."""
    if not name.endswith(")"):
        return name
    depth = 0
    for at in range(len(name) - 1, -1, -1):
        depth += (name[at] == ")") - (name[at] == "(")
        if depth == 0:
            return name[:at]
    return name


def readable(names):
    """Demangled, without arguments."""
    done = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    plain = [re.sub(r"\b(sluice|engine|cuda|gpu)::", "", name) for name in done.stdout.splitlines()]
    return dict(zip(names, [re.sub("^void ", "", without_arguments(name)) for name in plain]))


def read_budget(path):
    """A line is a pattern of names, the registers and the bytes of static shared memory that such a kernel may take."""
    budget = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = re.fullmatch(r"\s*(\d+)\s+(\d+)\s+(\S.*?)\s*", line)
        if not match:
            sys.exit(f"{path.name}:{number}: must be REGISTERS SHARED_BYTES PATTERN, not \"{line}\"")
        budget.append(Allowance(number, match.group(3), int(match.group(1)), int(match.group(2))))
    return budget


def fault_of(kernel, name, budget):
    """What is wrong with a kernel, or None. The first pattern that its name matches decides."""
    where = f"sm_{kernel.generation} {name}"
    if kernel.spilled:
        return f"{where}: spills {kernel.spilled} bytes"
    allowed = next((line for line in budget if fnmatch.fnmatchcase(name, line.pattern)), None)
    if allowed is None:
        return f"{where}: no line of {BUDGET.name} allows its {kernel.registers} registers and {kernel.shared} bytes of shared memory"
    if kernel.registers > allowed.registers:
        return f"{where}: takes {kernel.registers} registers, {BUDGET.name}:{allowed.line} allows {allowed.registers}"
    if kernel.shared > allowed.shared:
        return f"{where}: takes {kernel.shared} bytes of shared memory, {BUDGET.name}:{allowed.line} allows {allowed.shared}"
    return None


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
    print("registers on " + ", ".join(f"sm_{generation}" for generation in generations) + ", bytes of static shared memory")
    for mangled in sorted(by_name, key=names.get):
        shared = max(kernel.shared for kernel in by_name[mangled].values())
        print("  ".join(f"{by_name[mangled][int(g)].registers:4}" for g in generations) + f"  {shared:6}  {names[mangled]}")
    budget = read_budget(BUDGET)
    faults = [fault for kernel in kernels if (fault := fault_of(kernel, names[kernel.name], budget))]
    print("\n".join(faults))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
