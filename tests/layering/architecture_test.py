"""The architecture's rules that a reader of the includes can check. Fails with the file and line that break one."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Module -> what it may include. The same arrows stand in ARCHITECTURE.md and in each module's CMake link line.
ARROWS = {
    "base": set(),
    "proto": set(),
    "engine": {"engine/jinja", "base"},
    "engine/jinja": {"base"},
    "kvcache": {"engine", "base"},
    "scheduler": {"kvcache", "engine", "base"},
    "server": {"scheduler", "kvcache", "engine", "base", "proto"},
    "client": {"proto", "base"},
    "offline": {"engine", "base"},
    "cli": {"client", "offline", "proto", "base"},
    # The shipped scheduler on an engine that only takes time.
    "simulation": {"scheduler", "kvcache", "engine", "base"},
    "bench": {"simulation", "scheduler", "client", "proto", "base"},
    # Measures the scheduler itself, without a server.
    "bench/admission": {"simulation", "scheduler", "kvcache", "engine", "base"},
    # What a load generator is measured against: it computes nothing.
    "bench/null_server": {"proto", "base"},
    # Simulates the shipped scheduler beside a policy that exists nowhere else.
    "bench/experiments": {"bench", "simulation", "scheduler", "base"},
    # Measures the engine itself, without a server.
    "bench/micro": {"engine", "base"},
}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')
CONDITIONAL = re.compile(r"^\s*#\s*(if|ifdef|ifndef|elif)\b")
CLOCK_READ = re.compile(r"\b(steady_clock|system_clock|high_resolution_clock)::now\s*\(|\brandom_device\b|\bstd::rand\b")
SLEEP = re.compile(r"\b(sleep_for|sleep_until|usleep|nanosleep)\b")

# Who may read a clock or draw true randomness: the programs' main files, and the Clock class itself.
CLOCK_OWNERS = {"base/clock.h", "server/app.cpp", "server/main.cpp", "cli/main.cpp", "bench/main.cpp", "bench/micro/main.cpp"}
# Preprocessor conditions: only where compilers differ, never to choose a backend.
CONDITIONAL_OWNERS = {"base/mutex.h", "engine/cuda/gpu.h", "engine/cuda/gpu_cuda.h"}

LINES_MAX = 500


def tracked(*patterns):
    listing = subprocess.run(["git", "ls-files", "-z", *patterns], cwd=ROOT, check=True, capture_output=True)
    return [pathlib.PurePosixPath(name) for name in listing.stdout.decode().split("\0") if name]


def lines_of(path):
    return (ROOT / path).read_text(encoding="utf-8").splitlines()


def own_sources():
    return [path for path in tracked("*.h", "*.cpp") if path.parts[0] in ARROWS]


def module_of(path):
    """The innermost folder that has arrows of its own."""
    parts = str(path).split("/")
    nested = "/".join(parts[:2])
    if nested in ARROWS:
        return nested
    return "proto" if parts[0] == "sluice" else parts[0]


class Architecture(unittest.TestCase):
    def complain(self, faults):
        self.assertEqual([], faults, "\n" + "\n".join(faults))

    def test_includes_follow_the_arrows(self):
        faults = []
        for path in own_sources():
            module = module_of(path)
            for number, line in enumerate(lines_of(path), 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                target = module_of(match.group(1))
                if target not in ARROWS:
                    faults.append(f"{path}:{number}: include from the repository root, not {match.group(1)}")
                elif target != module and target not in ARROWS[module]:
                    faults.append(f"{path}:{number}: {module}/ may not use {target}/")
        self.complain(faults)

    def test_the_engine_s_shared_code_does_not_know_its_backends(self):
        faults = []
        for path in own_sources():
            if path.parts[0] != "engine" or path.parts[1] == "cpu":
                continue
            for number, line in enumerate(lines_of(path), 1):
                match = INCLUDE.match(line)
                if match and match.group(1).startswith("engine/cpu/"):
                    faults.append(f"{path}:{number}: shared engine code may not use engine/cpu/")
        self.complain(faults)

    def test_link_lines_follow_the_arrows(self):
        faults = []
        for module, allowed in ARROWS.items():
            cmake = ROOT / module / "CMakeLists.txt"
            if not cmake.exists():
                continue
            for name in re.findall(r"\bsluice_(\w+)", cmake.read_text(encoding="utf-8")):
                target = name.split("_")[0]
                if target in ARROWS and target != module and target not in allowed:
                    faults.append(f"{module}/CMakeLists.txt: {module}/ may not link {target}/")
        self.complain(faults)

    def test_every_folder_with_code_has_its_arrows(self):
        known = set(ARROWS) | {"tests"}
        faults = [f"{path}: its folder has no arrows" for path in tracked("*.h", "*.cpp") if path.parts[0] not in known]
        self.complain(faults)

    def test_no_conditional_compilation(self):
        faults = []
        for path in own_sources():
            if str(path) in CONDITIONAL_OWNERS:
                continue
            for number, line in enumerate(lines_of(path), 1):
                if CONDITIONAL.match(line):
                    faults.append(f"{path}:{number}: {line.strip()}: choose by linking and a factory")
        self.complain(faults)

    def test_time_and_chance_are_passed_in(self):
        faults = []
        for path in own_sources():
            if str(path) in CLOCK_OWNERS:
                continue
            for number, line in enumerate(lines_of(path), 1):
                if CLOCK_READ.search(line):
                    faults.append(f"{path}:{number}: {line.strip()}: take a Clock, a time or a seed instead")
        self.complain(faults)

    def test_nobody_sleeps(self):
        faults = []
        for path in own_sources() + [p for p in tracked("tests/*.cpp", "tests/*.h")]:
            for number, line in enumerate(lines_of(path), 1):
                if SLEEP.search(line):
                    faults.append(f"{path}:{number}: {line.strip()}: wait for the event itself")
        self.complain(faults)

    def test_files_stay_readable(self):
        faults = []
        for path in own_sources():
            count = len(lines_of(path))
            if count > LINES_MAX:
                faults.append(f"{path}: {count} lines; one noun per file, at most {LINES_MAX}")
        self.complain(faults)

    def test_headers_are_included_once(self):
        faults = [f"{path}: begins without #pragma once" for path in tracked("*.h") if "#pragma once" not in lines_of(path)[:3]]
        self.complain(faults)


if __name__ == "__main__":
    unittest.main()
