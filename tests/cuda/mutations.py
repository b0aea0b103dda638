"""Puts faults into kernels, one at a time, and wants the tests of the kernels to notice each.

usage: mutations.py --compiler CXX [--library FILE]... [--all | NAME...]      else those of QUICK in mutation_list.py

A mutated file goes to a temporary folder that stands before the source tree among the include paths, so that only the test
that the mutation names is compiled again. Fails on a mutation that isn't noticed, doesn't compile, or whose text no
longer stands where it did; and on a test that fails without any.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from mutation_list import MUTATIONS, QUICK

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNELS = pathlib.PurePosixPath("engine/cuda/kernels")
# A test of a few seconds that runs on for so long hangs, which isn't the same as noticing.
RUN_TIMEOUT_S = 120


class Fault(Exception):
    """Why a mutation does not show what it is there to show."""


def mutated(mutation, text):
    """The file's text with the mutation's fault in it."""
    count = text.count(mutation.old)
    if count == 0:
        raise Fault(f"{KERNELS}/{mutation.file} no longer has {mutation.old!r}; change it in mutation_list.py")
    if count > 1:
        raise Fault(f"{KERNELS}/{mutation.file} has {mutation.old!r} {count} times; make it longer in mutation_list.py")
    return text.replace(mutation.old, mutation.new)


def passed_count(output):
    match = re.search(r"\[  PASSED  \] (\d+) test", output)
    return int(match.group(1)) if match else 0


def is_noticed(mutation, code, output):
    """Raises unless the test ended as it does when it has noticed: by a failure or by the simulation's word."""
    if code == 0:
        raise Fault(f"none of {mutation.filter} in {mutation.test}_test.cpp noticed")
    if mutation.says not in output:
        raise Fault(f"the test failed, but did not say {mutation.says!r}:\n{output[-2000:]}")


class TestBench:
    """Compiles and runs tests against the source tree with another folder laid over it."""

    def __init__(self, compiler, libraries, folder):
        self.compiler = compiler
        self.libraries = libraries
        self.folder = pathlib.Path(folder)

    def run(self, test, test_filter, overlay):
        """Exit code and output; negative for a signal. Without optimisation: it compiles in half the time. The simulation is shown each
        access of memory (CMakeLists.txt)."""
        program = self.folder / "test"
        made = self.folder / "test.o"
        flags = ["-std=c++20", "-O0", "-fsanitize=thread", "-ffp-contract=off", f"-DSLUICE_SOURCE_DIR=\"{ROOT}\""]
        folders = [f"-I{overlay}", f"-I{ROOT}", f"-I{ROOT}/tests/cuda/simulated"]
        source = str(ROOT / "tests" / "cuda" / f"{test}_test.cpp")
        libraries = [*self.libraries, "-lgmock_main", "-lgmock", "-lgtest", "-lpthread"]
        # Apart: to link with -fsanitize=thread would bring ThreadSanitizer itself.
        for arguments in ([*flags, *folders, "-c", source, "-o", str(made)], [str(made), *libraries, "-o", str(program)]):
            done = subprocess.run([self.compiler, *arguments], capture_output=True, text=True)
            if done.returncode != 0:
                raise Fault(f"{test}_test.cpp does not compile:\n{done.stderr[:500]}")
        try:
            done = subprocess.run([program, f"--gtest_filter={test_filter}", "--gtest_color=no"], capture_output=True, text=True,
                                  errors="replace", timeout=RUN_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            raise Fault(f"{test_filter} still runs after {RUN_TIMEOUT_S} s") from None
        return done.returncode, done.stdout + done.stderr

    def check_unmutated(self, test, filters):
        """Each filter names tests, which pass."""
        code, output = self.run(test, ":".join(sorted(set(filters))), ROOT)
        if code != 0 or passed_count(output) == 0:
            raise Fault(f"{test}_test.cpp fails without a mutation:\n{output[-2000:]}")
        for pattern in {part for one in filters for part in one.split(":")}:
            if not any(re.fullmatch(pattern.replace(".", r"\.").replace("*", ".*"), name)
                       for name in re.findall(r"\[       OK \] (\S+)", output)):
                raise Fault(f"no test of {test}_test.cpp is called {pattern}")

    def check(self, mutation):
        overlay = self.folder / "overlay"
        file = overlay / KERNELS / mutation.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(mutated(mutation, (ROOT / KERNELS / mutation.file).read_text()))
        try:
            is_noticed(mutation, *self.run(mutation.test, mutation.filter, overlay))
        finally:
            file.unlink()


def chosen(names, takes_all):
    if takes_all:
        return MUTATIONS
    by_name = {mutation.name: mutation for mutation in MUTATIONS}
    unknown = sorted(set(names) - set(by_name))
    if unknown:
        sys.exit(f"no mutation is called {', '.join(unknown)}; there are {', '.join(by_name)}")
    return [by_name[name] for name in names]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", required=True)
    parser.add_argument("--library", action="append", default=[])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*", default=QUICK)
    options = parser.parse_args()
    mutations = chosen(options.names, options.all)
    faults = 0

    def report(name, check):
        nonlocal faults
        start = time.monotonic()
        try:
            check()
            verdict = "ok"
        except Fault as fault:
            faults += 1
            verdict = f"FAILED: {fault}"
        print(f"{time.monotonic() - start:5.1f} s  {name}: {verdict}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        bench = TestBench(options.compiler, options.library, folder)
        for test in sorted({mutation.test for mutation in mutations}):
            filters = [mutation.filter for mutation in mutations if mutation.test == test]
            report(f"{test}_test.cpp without a mutation", lambda: bench.check_unmutated(test, filters))
        for mutation in mutations:
            report(mutation.name, lambda: bench.check(mutation))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
