#!/usr/bin/env python3
"""Copies programs and the libraries that they load, so that they run on a machine of the same kind without Debian's packages, or to see what they take.

usage: scripts/collect_programs.py [--without PREFIX]... FOLDER PROGRAM...
Programs go to FOLDER/bin without their debug information, libraries to FOLDER/lib, but those whose names begin with a PREFIX. Prints what each part takes.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

# A line of ldd's: what a program asks for, and where it was found.
LIBRARY = re.compile(r"^\s*(\S+) => (\S.*?)(?: \(0x[0-9a-f]+\))?$", re.MULTILINE)


class Missing(Exception):
    """A library that isn't on this machine."""


def libraries_in(listing, without):
    """Path by name, of ldd's output."""
    found = {}
    for name, path in LIBRARY.findall(listing):
        if name.startswith(tuple(without)):
            continue
        if not path.startswith("/"):
            raise Missing(f"{name} is not on this machine")
        found[name] = pathlib.Path(path)
    return found


def libraries_of(program, without):
    done = subprocess.run(["ldd", str(program)], capture_output=True, text=True)
    if done.returncode != 0:
        raise Missing(f"{program}: {done.stderr.strip() or 'ldd finds no dynamic program in it'}")
    try:
        return libraries_in(done.stdout, without)
    except Missing as why:
        raise Missing(f"{program}: {why}") from None


def collect(programs, folder, without=()):
    """Bytes of the programs and of the libraries."""
    folder = pathlib.Path(folder)
    for name in ("bin", "lib"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    libraries = {}
    for program in map(pathlib.Path, programs):
        if not program.is_file():
            raise Missing(f"{program} is not there")
        libraries |= libraries_of(program, without)
        subprocess.run(["strip", "-o", str(folder / "bin" / program.name), str(program)], check=True)
    for name, path in libraries.items():
        shutil.copyfile(path, folder / "lib" / name)
    return tuple(sum(file.stat().st_size for file in (folder / name).iterdir()) for name in ("bin", "lib"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args()
    try:
        programs, libraries = collect(options.programs, options.folder, options.without)
    except Missing as why:
        sys.exit(str(why))
    print(f"programs {programs / 1e6:.1f} MB, libraries {libraries / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
