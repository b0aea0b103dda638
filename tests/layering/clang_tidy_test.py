"""The checks of .clang-tidy on our own sources (not the tests, and not what takes NVIDIA's toolkit to compile).

usage: clang_tidy_test.py BUILD-FOLDER

Most of a check's time goes into the headers of a file, so files that are compiled alike are read together, as one file that includes them. A file that
doesn't go with the others, as both have a name that each means for itself, or in which something is found, is read alone: that is what counts.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("base", "engine", "kvcache", "scheduler", "server", "client", "offline", "cli", "bench")
FILES_MAX = 12  # in one run: more would save little, and make it likelier that names meet
HEADERS = f"/({'|'.join(FOLDERS)})/[a-z0-9_/]*\\.(h|cpp)$"


def sources():
    """Paths of the files to check, from the root."""
    listed = subprocess.run(["git", "ls-files", "-z", *(f"{folder}/*.cpp" for folder in FOLDERS), ":!engine/cuda/toolkit"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return [path for path in listed.split("\0") if path]


def flags_of(command):
    """Of a compiler's command line, without the compiler, the file and what is made of it."""
    words = shlex.split(command)
    words = words[1 + next(at for at, word in enumerate(words) if word.endswith("++")):]  # a cache may stand before the compiler
    at = words.index("-o")
    return tuple(words[:at] + words[at + 2:words.index("-c")])


def runs(build, files):
    """[(flags, files)]: those of one folder that are compiled alike, so many at a time."""
    commands = {entry["file"]: entry["command"] for entry in json.loads((build / "compile_commands.json").read_text())}
    alike = collections.defaultdict(list)
    for path in files:
        command = commands.get(str(ROOT / path))
        if command is None:
            sys.exit(f"{path} is not in {build}/compile_commands.json: configure the build again")
        alike[flags_of(command), os.path.dirname(path)].append(path)
    return [(flags, paths[at:at + FILES_MAX]) for (flags, _), paths in alike.items() for at in range(0, len(paths), FILES_MAX)]


def faults_of(flags, files):
    """What clang-tidy says against the files, nothing if it takes them."""
    with tempfile.TemporaryDirectory() as folder:
        together = pathlib.Path(folder) / "together.cpp"
        together.write_text("".join(f'#include "{ROOT / path}"\n' for path in files))
        checked = together if len(files) > 1 else ROOT / files[0]
        done = subprocess.run(["clang-tidy", "--quiet", f"--config-file={ROOT}/.clang-tidy", f"--header-filter={HEADERS}", str(checked), "--", *flags],
                              cwd=ROOT, capture_output=True, text=True)
    if done.returncode == 0:
        return ""
    if len(files) == 1:
        return f"{files[0]}:\n{done.stdout}{done.stderr}"
    odd, others = parted(files, done.stdout)
    return faults_of(flags, odd) + faults_of(flags, others)


def parted(files, said):
    """The file in which the first error is, and the others; two halves where it is in none of them."""
    place = re.search(r"^(.+?):\d+:\d+: error:", said, re.MULTILINE)
    odd = [path for path in files if place and place.group(1) == str(ROOT / path)]
    if not odd:
        middle = len(files) // 2
        return files[:middle], files[middle:]
    return odd, [path for path in files if path not in odd]


# What clang looks for only in the file that it is given: names that a file declares for itself and has nowhere else.
DECLARED = re.compile(r"^ *using (?:\w+::)+(\w+);"
                      r"|^(?:constexpr|const) [^=;{}()]*?\b(\w+)(?:\[\w*\])*(?: = |\{|;)"
                      r"|^constexpr [^=;{}()]*?\b(\w+)\(", re.MULTILINE)


def unused_names(path):
    """Using-declarations, constants and constexpr functions that the file declares and doesn't use."""
    text = re.sub(r"^ *#include .*$|//.*$", "", (ROOT / path).read_text(encoding="utf-8"), flags=re.MULTILINE)
    names = [next(filter(None, match.groups())) for match in DECLARED.finditer(text)]
    return "".join(f"{path}: '{name}' is unused\n" for name in names if len(re.findall(rf"\b{name}\b", text)) == 1)


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    files = sources()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        faults = [fault for fault in pool.map(lambda run: faults_of(*run), runs(build, files)) if fault]
    faults += [fault for fault in map(unused_names, files) if fault]
    print("".join(faults) or f"{len(files)} files")
    sys.exit(1 if faults or not files else 0)


if __name__ == "__main__":
    main()
