"""What can be told of the Dockerfile without Docker: that what it copies, installs and starts is there, and enough.

usage: dockerfile_test.py PROGRAMS      the folder with the programs of a build
"""

import fnmatch
import json
import pathlib
import re
import shutil
import subprocess
import sys
import unittest
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAMS = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else None
INSTRUCTIONS = {"ARG", "FROM", "WORKDIR", "COPY", "RUN", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "ENV", "USER"}
# In every Debian system.
ESSENTIAL = {"libc6", "libgcc-s1", "libstdc++6", "zlib1g"}


class Stage(NamedTuple):
    name: str
    base: str
    steps: list  # of (instruction, rest of its line)


def parse(text):
    """The arguments before the first stage, and the stages in their order."""
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    arguments, stages = {}, []
    for line in filter(str.strip, lines):
        instruction, rest = line.split(None, 1)
        if instruction not in INSTRUCTIONS:
            raise ValueError(f"{instruction} is no instruction: {line}")
        if instruction == "FROM":
            base, _, name = re.fullmatch(r"(\S+)(?: (AS) (\S+))?", rest.strip()).groups()
            stages.append(Stage(name, base, []))
        elif stages:
            stages[-1].steps.append((instruction, rest.strip()))
        else:
            key, value = rest.split("=", 1)
            arguments[key] = value.strip()
    return arguments, stages


ARGUMENTS, STAGES = parse((ROOT / "Dockerfile").read_text())
BY_NAME = {stage.name: stage for stage in STAGES}


def lineage(name):
    """The steps of a stage after those of the stages it is made of."""
    stage = BY_NAME.get(name)
    return lineage(stage.base) + stage.steps if stage else []


def last(name, instruction):
    return [rest for found, rest in lineage(name) if found == instruction][-1]


def is_ignored(path):
    """Whether .dockerignore leaves it out: by a first part that it names, or with ** by any."""
    parts = pathlib.PurePosixPath(path).parts
    patterns = [line.strip() for line in (ROOT / ".dockerignore").read_text().splitlines() if line.strip() and not line.startswith("#")]
    return any(fnmatch.fnmatch(part, pattern.removeprefix("**/")) for pattern in patterns for part in (parts if pattern.startswith("**/") else parts[:1]))


def runtime_packages():
    installs = [rest for instruction, rest in BY_NAME["runtime"].steps if instruction == "RUN"]
    words = re.search(r"apt-get install ([^&]*)", " ".join(installs)).group(1).split()
    return {word for word in words if not word.startswith("-")}


def loaded_libraries(program):
    """Path by name, of those that the program itself names."""
    asked = subprocess.run(["objdump", "-p", str(program)], check=True, capture_output=True, text=True).stdout
    found = subprocess.run(["ldd", str(program)], check=True, capture_output=True, text=True).stdout
    paths = dict(re.findall(r"^\s*(\S+) => (\S+)", found, re.MULTILINE))
    return {name: paths[name] for name in re.findall(r"NEEDED\s+(\S+)", asked) if name in paths}


def packages_of(libraries):
    """The Debian package by the name of a library."""
    # /lib is /usr/lib, and a package lists one or the other.
    places = {name: (str(pathlib.Path(path).resolve()), str(pathlib.Path(path).resolve()).removeprefix("/usr")) for name, path in libraries.items()}
    asked = [place for both in places.values() for place in both]
    listing = subprocess.run(["dpkg", "-S", *asked], capture_output=True, text=True).stdout
    package_at = {path: package.split(":")[0] for package, path in re.findall(r"^(\S+): (\S+)$", listing, re.MULTILINE)}
    return {name: next(package_at[place] for place in both if place in package_at) for name, both in places.items()}


class Dockerfile(unittest.TestCase):
    def test_both_targets_are_there_and_the_small_one_is_the_default(self):
        self.assertIn("cuda", BY_NAME)
        self.assertEqual(STAGES[-1].name, "cpu")

    def test_images_come_from_stages_or_by_a_name_without_a_host(self):
        seen = set()
        for stage in STAGES:
            base = re.sub(r"\$\{(\w+)\}", lambda match: ARGUMENTS[match.group(1)], stage.base)
            if base not in seen:
                self.assertRegex(base, r"^([a-z]+/)?[a-z]+:[\w.-]+$")
            seen.add(stage.name)

    def test_what_is_copied_is_there(self):
        seen = set()
        for stage in STAGES:
            for instruction, rest in stage.steps:
                if instruction != "COPY":
                    continue
                words = rest.split()
                if words[0].startswith("--from="):
                    self.assertIn(words[0].removeprefix("--from="), seen)
                    continue
                for source in words[:-1]:
                    self.assertTrue((ROOT / source).exists(), source)
                    self.assertFalse(is_ignored(source), f"{source} is in .dockerignore")
            seen.add(stage.name)

    def test_the_build_needs_nothing_that_is_left_out(self):
        """With BUILD_TESTING off the tree is built without its tests."""
        for line in (ROOT / "CMakeLists.txt").read_text().splitlines():
            if match := re.match(r"add_subdirectory\((\w+)\)", line):
                self.assertFalse(is_ignored(match.group(1)), line)
        for name in ("CMakeLists.txt", "CMakePresets.json", "cmake", "proto"):
            self.assertFalse(is_ignored(name))

    def test_built_programs_are_targets(self):
        cmake = "\n".join(path.read_text() for path in ROOT.glob("*/**/CMakeLists.txt") if "build" not in path.parts)
        presets = {preset["name"] for preset in json.loads((ROOT / "CMakePresets.json").read_text())["buildPresets"]}
        runs = " ".join(rest for stage in STAGES for instruction, rest in stage.steps if instruction == "RUN")
        builds = re.findall(r"cmake --build --preset (\S+) --target ([^&]+)", runs)
        self.assertEqual(len(builds), 2)
        for preset, targets in builds:
            self.assertIn(preset, presets)
            for target in targets.split():
                self.assertRegex(cmake, rf"add_(executable|library)\({re.escape(target)}\b")

    def test_nobody_runs_as_root(self):
        for name in ("cpu", "cuda"):
            user = last(name, "USER")
            self.assertEqual(lineage(name)[-1], ("USER", user))
            self.assertRegex(" ".join(rest for instruction, rest in lineage(name) if instruction == "RUN"), rf"useradd .*--uid [1-9]\d* .*\b{user}\b")

    def test_it_starts_and_asks_programs_that_it_has(self):
        has = set(re.findall(r"for program in ([^;]+);", " ".join(rest for _, rest in BY_NAME["build"].steps))[0].split())
        for name in ("cpu", "cuda"):
            self.assertIn(json.loads(last(name, "ENTRYPOINT"))[0], has)
            command = json.loads(last(name, "HEALTHCHECK").split(" CMD ", 1)[1])
            self.assertEqual(command, ["sluice", "health"])
            self.assertIn(command[0], has)
            self.assertEqual(last(name, "STOPSIGNAL"), "SIGTERM")
            self.assertEqual(last(name, "VOLUME"), "/models")

    def test_packages_are_debians(self):
        if shutil.which("apt-cache") is None:
            self.skipTest("no apt-cache on this machine")
        if subprocess.run(["apt-cache", "show", "libc6"], capture_output=True).returncode != 0:
            self.skipTest("apt has no lists here")
        known = subprocess.run(["apt-cache", "show", *runtime_packages()], capture_output=True, text=True).stdout
        self.assertEqual(runtime_packages() - set(re.findall(r"^Package: (\S+)$", known, re.MULTILINE)), set(), "apt-get update brings the lists")


@unittest.skipIf(PROGRAMS is None, "no programs were named")
class Programs(unittest.TestCase):
    NAMES = ("sluiced", "sluice", "sluice-bench")

    def test_every_library_that_they_load_is_installed(self):
        libraries = {}
        for name in self.NAMES:
            libraries |= loaded_libraries(PROGRAMS / name)
        packages = packages_of(libraries)
        self.assertEqual({library: package for library, package in packages.items() if package not in runtime_packages() | ESSENTIAL}, {})
        self.assertEqual(runtime_packages() - set(packages.values()) - {"ca-certificates"}, set(), "no program loads these")

    def test_the_configuration_is_one_that_the_daemon_takes(self):
        done = subprocess.run([PROGRAMS / "sluiced", "--config", ROOT / "configs/container.yaml", "--check-config"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        exposed = last("cpu", "EXPOSE").split()
        self.assertEqual(re.findall(r'(?:grpc|http)_listen: "0\.0\.0\.0:(\d+)"', done.stdout), exposed)

    def test_the_client_has_the_command_that_asks_for_health(self):
        done = subprocess.run([PROGRAMS / "sluice", "health", "--address", "127.0.0.1:1", "--wait-ms", "50"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("was not ready within 50 ms", done.stderr)


class Parsing(unittest.TestCase):
    def test_what_is_no_instruction_is_refused(self):
        with self.assertRaisesRegex(ValueError, "COPPY"):
            parse("FROM a:b AS c\nCOPPY x y\n")

    def test_lines_are_joined_over_comments(self):
        self.assertEqual(parse("FROM a:b AS c\nRUN one \\\n# why\n && two\n")[1], [Stage("c", "a:b", [("RUN", "one   && two")])])

    def test_patterns_hold_where_docker_has_them_hold(self):
        self.assertTrue(is_ignored("bench/peers/__pycache__/x.pyc"))
        self.assertTrue(is_ignored("build/release"))
        self.assertFalse(is_ignored("engine/build"))
        self.assertFalse(is_ignored("bench/peers/table.py"))


if __name__ == "__main__":
    unittest.main()
